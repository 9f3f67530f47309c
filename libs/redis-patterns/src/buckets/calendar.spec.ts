import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Calendar, isTimeZone, type BucketUnit } from './calendar.js';

const HOUR = 3_600_000;

function hours(unit: BucketUnit, tz: string, id: string): number | undefined {
  const bucket = new Calendar(unit, tz).parse(id);
  return bucket && (bucket.end - bucket.start) / HOUR;
}

describe('the calendar of buckets', () => {
  it.each([
    ['hour', '2026-11-30T14', '2026-11-30T14:00:00Z'],
    ['day', '2026-11-30', '2026-11-30T00:00:00Z'],
    ['week', '2026-W49', '2026-11-30T00:00:00Z'],
    ['month', '2026-11', '2026-11-01T00:00:00Z'],
  ] as const)('names the %s in the classic form', (unit, id, start) => {
    const bucket = new Calendar(unit, 'UTC').at(Date.parse('2026-11-30T14:59:59.999Z'));
    expect(bucket).toMatchObject({ id, start: Date.parse(start) });
  });

  it('gives weeks to the year of their Thursday, as ISO 8601 does', () => {
    const weeks = new Calendar('week', 'UTC');
    const ids = ['2020-12-31', '2021-01-03', '2021-01-04', '2024-12-30', '2027-01-01'].map(
      (day) => weeks.at(Date.parse(day)).id,
    );
    expect(ids).toEqual(['2020-W53', '2020-W53', '2021-W01', '2025-W01', '2026-W53']);
  });

  it('follows the clocks of a time zone when they are changed', () => {
    expect(hours('day', 'Europe/Berlin', '2026-03-29')).toBe(23);
    expect(hours('day', 'Europe/Berlin', '2026-10-25')).toBe(25);
    expect(hours('day', 'Europe/Berlin', '2026-10-26')).toBe(24);
    expect(hours('hour', 'Europe/Berlin', '2026-10-25T02')).toBe(2);
    expect(hours('hour', 'Europe/Berlin', '2026-03-29T02')).toBeUndefined();
    expect(hours('month', 'America/New_York', '2026-11')).toBe(30 * 24 + 1);
    // There midnight itself is left out, or comes twice.
    expect(hours('day', 'America/Havana', '2026-03-08')).toBe(23);
    expect(hours('day', 'America/Havana', '2026-11-01')).toBe(25);
    expect(hours('hour', 'Australia/Lord_Howe', '2026-04-05T01')).toBe(1.5);
    // There from a quarter to four to a quarter to three, and from three to one.
    expect(hours('hour', 'Pacific/Chatham', '2026-04-05T03')).toBe(2);
    expect(hours('hour', 'Antarctica/Troll', '2026-10-25T01')).toBe(1);
    expect(hours('hour', 'Antarctica/Troll', '2026-10-25T02')).toBe(3);
    expect(new Calendar('day', 'Asia/Kolkata').at(Date.parse('2026-11-30T18:30:00Z')).id).toBe('2026-12-01');
  });

  it('has one bucket for each moment, with nothing between two of them', () => {
    // Anywhere, and around the changes of 2026.
    const around = ['2026-03-29', '2026-04-05', '2026-10-04', '2026-10-25', '2026-11-01'].map((day) => Date.parse(day));
    const change = fc
      .tuple(fc.constantFrom(...around), fc.integer({ min: -24 * HOUR, max: 24 * HOUR }))
      .map(([day, offset]) => day + offset);
    const moment = fc.oneof(fc.integer({ min: 0, max: Date.UTC(2060, 0, 1) }), change);
    const zone = fc.constantFrom(
      'UTC',
      'Europe/Berlin',
      'America/Havana',
      'Pacific/Apia',
      'Australia/Lord_Howe',
      'Pacific/Chatham',
      'Antarctica/Troll',
    );
    const unit = fc.constantFrom<BucketUnit>('hour', 'day', 'week', 'month');
    const property = fc.property(moment, zone, unit, (ms, tz, each) => {
      const calendar = new Calendar(each, tz);
      const bucket = calendar.at(ms);
      expect(bucket.start <= ms && ms < bucket.end).toBe(true);
      expect(new Calendar(each, tz).at(bucket.start)).toEqual(bucket);
      expect(new Calendar(each, tz).at(bucket.end - 1)).toEqual(bucket);
      expect(new Calendar(each, tz).at(bucket.end).start).toBe(bucket.end);
      expect(new Calendar(each, tz).parse(bucket.id)).toEqual(bucket);
    });
    fc.assert(property, { numRuns: 150, seed: 9 });
  });

  it('knows no other ids and time zones', () => {
    const none = ['2026-13', '2026-02-30', '2026-11-30T24', '2026-W54', '2026', '', '2026-11-30 ', '2026-1-1'];
    for (const unit of ['hour', 'day', 'week', 'month'] as const) {
      for (const id of none) expect(new Calendar(unit, 'UTC').parse(id)).toBeUndefined();
    }
    expect(['Europe/Berlin', 'UTC', 'Europe/Atlantis', '', 7, undefined].map(isTimeZone)).toEqual([
      true,
      true,
      false,
      false,
      false,
      false,
    ]);
  });
});
