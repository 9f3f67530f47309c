import { describe, expect, it } from '@jest/globals';
import { withReaderDefaults } from '../consumer.options.js';
import { toFields } from '../message.js';
import { compareIds } from '../../core/stream-id.js';
import { Held } from './held.js';
import { HeldEntry } from './held-entry.js';
import { cureOf } from './troubles.js';
import { isSuspect, Waiting } from './waiting.js';

const main = { key: 's', isRetry: 0 } as const;
const retries = { key: 'r', isRetry: 1 } as const;
const FIELDS = toFields({ type: undefined, data: '1', messageId: 'm', key: undefined, headers: undefined });
const entry = (id: string, count = 1, redelivered = false) => new HeldEntry(main, id, FIELDS, count, redelivered);
const retried = (crashes: number, count = 1, redelivered = false) => {
  const notes = ['x-original-id', '1-1', 'x-attempt', '2', 'x-deliveries', String(crashes)];
  return new HeldEntry(retries, '9-1', [...FIELDS, ...notes], count, redelivered);
};

describe('a held entry', () => {
  it('counts starts that never came to an end, over processes and retries', () => {
    expect(entry('1-0').unfinishedStarts).toBe(0);
    expect(entry('1-0', 1, true).unfinishedStarts).toBe(1);
    expect(retried(0).unfinishedStarts).toBe(0);
    expect(retried(3, 2, true).unfinishedStarts).toBe(5);
    const started = retried(3, 2, true);
    [started.count, started.redelivered] = [3, false];
    // The present run is not one of them.
    expect(started.unfinishedStarts).toBe(5);
    expect([started.originalId, started.failures]).toEqual(['1-1', 2]);
  });
});

describe('what a reader holds', () => {
  const options = withReaderDefaults({ concurrency: 2, prefetch: 2, maxBufferedBytes: 1024 }, 1);

  it('has room for what may run and wait; acknowledgements on their way take none, for a while', () => {
    const held = new Held(options);
    const entries = ['1-0', '2-0', '3-0', '4-0'].map((id) => entry(id));
    for (const one of entries) expect(held.add(one)).toBe(true);
    expect([held.room, held.add(entry('1-0')), held.add(retried(0))]).toEqual([0, false, true]);
    for (const one of entries) held.acked(one);
    expect(held.room).toBe(3);
    for (const one of entries) held.remove(one);
    expect([held.room, held.size]).toEqual([3, 1]);
  });

  it('is bounded by bytes, whatever the places', () => {
    const held = new Held(options);
    held.add(new HeldEntry(main, '1-0', ['data', 'x'.repeat(2000)], 1, false));
    expect(held.room).toBe(0);
  });

  it('has no room while paused, and wakes who waits when that is over', async () => {
    let resumed = 0;
    const held = new Held(options, 1, () => resumed++);
    held.paused = true;
    expect(held.room).toBe(0);
    const room = held.whenRoom(1, new AbortController().signal);
    held.paused = false;
    await room;
    expect([held.room, resumed]).toEqual([4, 1]);
  });

  it('wakes only when enough places are free', async () => {
    const held = new Held(options);
    const entries = ['1-0', '2-0', '3-0', '4-0'].map((id) => entry(id));
    for (const one of entries) held.add(one);
    let woke = false;
    const waiting = held.whenRoom(2, new AbortController().signal).then(() => (woke = true));
    held.remove(entries[0]!);
    await Promise.resolve();
    expect(woke).toBe(false);
    held.remove(entries[1]!);
    await waiting;
    const stop = new AbortController();
    const aborted = held.whenRoom(4, stop.signal);
    stop.abort(new Error('stops'));
    await expect(aborted).rejects.toThrow('stops');
  });

  it('orders ids as Redis does', () => {
    const ids = ['10-0', '9-18446744073709551615', '9-2', '9-10'];
    expect(ids.toSorted(compareIds)).toEqual(['9-2', '9-10', '9-18446744073709551615', '10-0']);
  });
});

describe('what waits for a place', () => {
  it('runs suspects one at a time, the least suspect first, beside the others', () => {
    const waiting = new Waiting();
    const [bad, worse, good] = [entry('1-0', 2, true), entry('2-0', 5, true), entry('3-0', 1, true)];
    for (const one of [worse, bad, good]) waiting.add(one);
    expect([isSuspect(good), isSuspect(bad)]).toEqual([false, true]);
    expect([waiting.take(), waiting.take(), waiting.take()]).toEqual([bad, good, undefined]);
    waiting.ended(bad);
    expect(waiting.take()).toBe(worse);
  });
});

describe('the cure of a failed read', () => {
  it.each([
    ["NOGROUP No such key 's' or consumer group 'g'", 'ensure'],
    ['UNBLOCKED the stream key no longer exists', 'ensure'],
    ['UNBLOCKED force unblock from blocking operation, instance state changed', 'reset'],
    ["READONLY You can't write against a read only replica.", 'reset'],
    ['MOVED 1 127.0.0.1:1', 'reset'],
    ['LOADING Redis is loading the dataset in memory', 'wait'],
    ['MASTERDOWN Link with MASTER is down', 'wait'],
    ['CLUSTERDOWN The cluster is down', 'wait'],
    ['TRYAGAIN Multiple keys request during rehashing of slot', 'wait'],
    ['WRONGTYPE Operation against a key holding the wrong kind of value', 'repair'],
    ['NOPERM this user has no permissions', 'repair'],
    ['NOAUTH Authentication required.', 'repair'],
    ['ERR unknown command', 'repair'],
    ['Connection is closed.', 'wait'],
  ])('%s: %s', (message, cure) => {
    expect(cureOf(new Error(message))).toBe(cure);
  });
});
