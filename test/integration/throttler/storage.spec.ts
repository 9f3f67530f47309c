import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { InvalidOptionsError } from '../../../libs/redis-patterns/src/core/index.js';
import type { ThrottlerHit, ThrottlerRecord } from '../../../libs/redis-patterns/src/throttler/throttler.types.js';
import { describeOnEachTopology } from '../../support/topologies.js';
import { hit, openStorage, type TestStorage } from './test-storage.js';

const wait = (seconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, seconds * 1000));

describeOnEachTopology('the storage for @nestjs/throttler', { user: 'rateLimit' }, (topology) => {
  /** As two processes would have it. */
  let opened: [TestStorage, TestStorage];

  beforeAll(async () => {
    opened = [await openStorage(topology), await openStorage(topology)];
  });
  afterAll(() => Promise.all(opened?.map((each) => each.close()) ?? []));

  const increment = (
    { key, ttl, limit, blockDuration, throttlerName }: ThrottlerHit,
    by = 0,
  ): Promise<ThrottlerRecord> => opened[by]!.storage.increment(key, ttl, limit, blockDuration, throttlerName);
  const all = (hits: ThrottlerHit[]): Promise<ThrottlerRecord[]> => opened[0].storage.incrementAll(hits);
  const redisKey = (key: string, name = 'default'): string =>
    `${topology.namespace}:ratelimit:throttler~${name}:{${key}}`;

  it('admits as many as the limit says, however many processes ask at once, and blocks the rest', async () => {
    const records = await Promise.all(
      Array.from({ length: 60 }, (_, n) => increment(hit('burst', { limit: 10 }), n % 2)),
    );
    const admitted = records.filter(({ isBlocked }) => !isBlocked);
    expect(admitted.map(({ totalHits }) => totalHits).toSorted((a, b) => a - b)).toEqual([
      1, 2, 3, 4, 5, 6, 7, 8, 9, 10,
    ]);
    const refused = records.filter(({ isBlocked }) => isBlocked);
    expect(new Set(refused.map(({ totalHits }) => totalHits))).toEqual(new Set([11]));
    expect(refused.every(({ timeToBlockExpire }) => timeToBlockExpire > 50 && timeToBlockExpire <= 60)).toBe(true);
    expect(await topology.admin.client.llen(redisKey('burst'))).toBe(1);
  });

  it('begins anew after a block, which refused hits do not prolong, and keeps what it tells to wait', async () => {
    const given = hit('block', { limit: 2, blockDuration: 2000 });
    for (const totalHits of [1, 2]) {
      expect(await increment(given)).toMatchObject({ totalHits, isBlocked: false, timeToBlockExpire: 0 });
    }
    expect(await increment(given)).toEqual({ totalHits: 3, isBlocked: true, timeToBlockExpire: 2, timeToExpire: 2 });
    const blockedAt = performance.now();
    // Knocking all the time.
    while (performance.now() < blockedAt + 1000) {
      await increment(given, 1);
      await wait(0.05);
    }
    await wait(Math.max(0, blockedAt + 2000 - performance.now()) / 1000);
    expect(await increment(given)).toMatchObject({ totalHits: 1, isBlocked: false, timeToBlockExpire: 0 });
  });

  it('without a block never admits more than the limit in any time of ttl, and has room when the oldest hit is over', async () => {
    const given = hit('slide', { limit: 4, ttl: 1000, blockDuration: 0 });
    const admitted: { sent: number; answered: number }[] = [];
    // Two windows are full, and a third has begun.
    while (admitted.length < 9) {
      const sent = performance.now();
      const record = await increment(given, admitted.length % 2);
      if (!record.isBlocked) admitted.push({ sent, answered: performance.now() });
      else expect(record).toMatchObject({ totalHits: 5, timeToBlockExpire: 1, timeToExpire: 1 });
      await wait(0.03);
    }
    for (let n = 4; n < admitted.length; n++) {
      expect(admitted[n]!.answered - admitted[n - 4]!.sent).toBeGreaterThanOrEqual(1000);
    }
    let refused = await increment(given);
    while (!refused.isBlocked) refused = await increment(given);
    await wait(refused.timeToBlockExpire);
    expect(await increment(given)).toMatchObject({ isBlocked: false });
  });

  it('rounds seconds up, and after a lowered limit waits for as many hits as make room', async () => {
    const key = redisKey('lowered');
    const agesMs = [2600, 1500, 400];
    await topology.admin.client.rpush(key, ...agesMs.map((age) => (Date.now() - age) * 1000));
    await topology.admin.client.pexpire(key, 10_000);
    const waits: number[] = [];
    for (const limit of [3, 2, 1]) {
      const record = await increment(hit('lowered', { ttl: 10_000, limit, blockDuration: 0 }));
      waits.push(record.timeToBlockExpire);
      expect(record).toMatchObject({ isBlocked: true, totalHits: 4, timeToExpire: record.timeToBlockExpire });
    }
    // 7.4, 8.5 and 9.6 s.
    expect(waits).toEqual([8, 9, 10]);
  });

  it('counts for all limits or for none, in one command', async () => {
    const names = ['short', 'medium', 'long'].map((throttlerName) => hit('atomic', { throttlerName, limit: 9 }));
    const [short, medium, long] = names as [ThrottlerHit, ThrottlerHit, ThrottlerHit];
    await all(names);
    const before = await topology.admin.commandCounts();
    await all(names);
    const after = await topology.admin.commandCounts();
    expect(after.evalsha! - before.evalsha!).toBe(1);
    // Several at once: exactly as many pass as the tightest lets through.
    const tight = [short, medium, { ...long, limit: 5, blockDuration: 0 }];
    const rounds = await Promise.all(Array.from({ length: 12 }, () => all(tight)));
    expect(rounds.filter((round) => round.every(({ isBlocked }) => !isBlocked))).toHaveLength(3);
    const last = await all(tight);
    expect(last.map(({ totalHits, isBlocked }) => [totalHits, isBlocked])).toEqual([
      [5, false],
      [5, false],
      [6, true],
    ]);
    expect(await increment(short)).toMatchObject({ totalHits: 6 });
  });

  it('takes hits of other keys back when one of them has no room', async () => {
    const mine = hit('user:7', { throttlerName: 'user', limit: 9 });
    const ours = hit('ip:1', { throttlerName: 'ip', limit: 2, blockDuration: 0 });
    const round = async () => (await all([mine, ours])).map(({ totalHits, isBlocked }) => [totalHits, isBlocked]);
    expect([await round(), await round()]).toEqual([
      [
        [1, false],
        [1, false],
      ],
      [
        [2, false],
        [2, false],
      ],
    ]);
    for (let n = 0; n < 3; n++)
      expect(await round()).toEqual([
        [2, false],
        [3, true],
      ]);
    expect(await topology.admin.client.llen(redisKey('user:7', 'user'))).toBe(2);
  });

  it('keeps names and keys apart, whatever is in them', async () => {
    const keys = ['a', '{a}', 'a{b}', 'a:b', 'ü \n*', 'x'.repeat(300), `${'x'.repeat(300)}y`];
    const names = ['default', 'a:b', 'a'];
    for (const throttlerName of names) {
      for (const key of keys) expect(await increment(hit(key, { throttlerName }))).toMatchObject({ totalHits: 1 });
    }
  });

  it('heals counts of a clock that was wrong', async () => {
    const key = redisKey('clock');
    await topology.admin.client.rpush(key, ...[1, 2, 3].map((n) => (Date.now() + 600_000) * 1000 + n));
    await topology.admin.client.pexpire(key, 600_000);
    expect(await increment(hit('clock'))).toMatchObject({ totalHits: 1, isBlocked: false });
  });

  it('refuses what cannot work with the name of the throttler and the option', async () => {
    const faults = [
      { ttl: 0 },
      { ttl: NaN },
      { ttl: Infinity },
      { blockDuration: Infinity },
      { limit: '5' as unknown as number },
    ];
    for (const fault of faults) {
      const error = await increment(hit('bad', { throttlerName: 'short', ...fault })).catch((each: unknown) => each);
      expect(error).toBeInstanceOf(InvalidOptionsError);
      expect(String(error)).toContain(`throttler 'short':\n  - ${Object.keys(fault)[0]}: is `);
    }
    await expect(increment(hit(''))).rejects.toThrow(/generateKey: gave no text/);
    expect(await increment(hit('none', { limit: Infinity }))).toMatchObject({ isBlocked: false });
    expect(await topology.admin.client.exists(redisKey('none'))).toBe(0);
    expect(await increment(hit('zero', { limit: 0, blockDuration: 0 }))).toMatchObject({
      isBlocked: true,
      totalHits: 1,
    });
  });

  it('lets every key expire', async () => {
    const keys = await topology.admin.keys(`${topology.namespace}:*`);
    expect(keys.length).toBeGreaterThan(20);
    for (const key of keys) {
      const left = await topology.admin.client.pttl(key);
      // -2: gone meanwhile.
      expect(left === -2 || (left >= 0 && left <= 60_000)).toBe(true);
    }
  });
});
