import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { formatDuration, parseDuration, toMilliseconds, type Duration } from './duration.js';
import { InvalidOptionsError } from './errors.js';

describe('parseDuration', () => {
  it.each<[unknown, number]>([
    [0, 0],
    [250, 250],
    [0.2, 1],
    ['0ms', 0],
    ['250ms', 250],
    ['30s', 30_000],
    ['5m', 300_000],
    ['1.5h', 5_400_000],
    ['7d', 604_800_000],
    ['1.1s', 1_100],
    ['0.0001s', 1],
  ])('reads %j as %d ms', (value, ms) => {
    expect(parseDuration(value)).toBe(ms);
  });

  it.each([
    -1,
    NaN,
    Infinity,
    2 ** 53,
    '',
    '5',
    's',
    '-5s',
    '+5s',
    '1e3ms',
    '5 m',
    ' 5m',
    '5m\n',
    '1w',
    '5M',
    '.5s',
    '1.s',
    '1,5s',
    'Infinityms',
    '999999999999999d',
    null,
    undefined,
    {},
    ['5s'],
    10n,
    true,
  ])('does not take %p for a duration', (value) => {
    expect(parseDuration(value)).toBeUndefined();
  });

  it('never ends a wait early and never by a whole millisecond late', () => {
    const units = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
    fc.assert(
      fc.property(
        fc.constantFrom(...(Object.keys(units) as (keyof typeof units)[])),
        fc.nat({ max: 100_000 }),
        fc.nat({ max: 999 }),
        (unit, whole, thousandths) => {
          const ms = parseDuration(`${whole}.${String(thousandths).padStart(3, '0')}${unit}`)!;
          // In integers, thousandths of a millisecond: exact.
          const exact = (whole * 1_000 + thousandths) * units[unit];
          expect(ms * 1_000 - exact).toBeGreaterThanOrEqual(0);
          expect(ms * 1_000 - exact).toBeLessThan(1_000);
        },
      ),
    );
  });

  it('reads back what formatDuration writes', () => {
    expect(formatDuration(90_000)).toBe('90s');
    fc.assert(
      fc.property(fc.maxSafeNat(), (ms) => {
        expect(parseDuration(formatDuration(ms - (ms % 60_000)))).toBe(ms - (ms % 60_000));
        expect(parseDuration(formatDuration(ms % 2 ** 40))).toBe(ms % 2 ** 40);
      }),
    );
  });
});

describe('toMilliseconds', () => {
  it('names the method and the option when the value is no duration', () => {
    const call = (): number => toMilliseconds('5 minutes' as Duration, 'LockHandle.extend', 'lease');
    expect(call).toThrow(InvalidOptionsError);
    expect(call).toThrow(/LockHandle\.extend:\n {2}- lease: '5 minutes' is not a duration; give milliseconds/);
  });

  it.each<unknown>([null, {}, Object.create(null), Symbol('x'), 'x'.repeat(10_000)])(
    'complains briefly about %p',
    (value) => {
      expect(() => toMilliseconds(value as Duration, 'X', 'ttl')).toThrow(/^[^]{1,220}$/);
    },
  );
});
