import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  BloomFilterService,
  CounterService,
  FeedService,
  LeaderboardService,
  UniqueCounterService,
} from 'nestjs-redis-patterns';
import { eventually } from '../../support/eventually.js';
import { loseReply } from '../../support/lose-reply.js';
import { openEngine, type OpenEngine } from '../../support/engine.js';
import type { RedisAdmin } from '../../support/redis-admin.js';
import { connectAdmin, startOwn, startProxy, type FaultProxy, type Topology } from '../../support/topologies.js';

describe('boards, counts and feeds, and a Redis that fails', () => {
  let topology: Topology;
  let admin: RedisAdmin;
  let proxy: FaultProxy;
  let engine: OpenEngine;
  let counters: CounterService;
  let boards: LeaderboardService;
  let feeds: FeedService;
  beforeAll(async () => {
    topology = await startOwn('standalone', { user: ['counting', 'leaderboard', 'feed'] });
    admin = await connectAdmin(topology);
    proxy = await startProxy(await topology.primary());
    const { host, port } = proxy;
    const connection = { mode: 'standalone', host, port, ...topology.users?.app } as const;
    engine = await openEngine({ connection, namespace: 'shop' }, { commandTimeout: 1500 });
    counters = new CounterService(engine.context);
    boards = new LeaderboardService(engine.context, { ttl: 60_000 });
    feeds = new FeedService(engine.context, { max: 100, ttl: 60_000 });
    // The server knows the scripts from here on: what a fault hits is a reply, never NOSCRIPT.
    await counters.incr('warm-up');
    await boards.board('warm-up').submit('a', 1);
    await feeds.feed('warm-up').push(1);
  });
  beforeEach(async () => {
    await proxy.set('pass');
    await quiet();
  });
  afterAll(async () => {
    await engine.close();
    await proxy.close();
    admin.close();
    await topology.stop();
  });

  /** Resolves when nothing is under way, the questions that a new connection asks included. */
  async function quiet(): Promise<void> {
    const probe = { name: 'test.quiet', effect: 'read', wait: true } as const;
    const ask = () => engine.connection.run({ ...probe, send: (client) => client.exists('shop:counter:quiet') });
    await eventually(() => ask().then(() => true), { timeout: 10_000 });
  }

  async function lose<T>(call: () => Promise<T>): Promise<PromiseSettledResult<T>> {
    const [result] = await Promise.allSettled([loseReply(proxy, call)]);
    await quiet();
    return result;
  }

  const unknown = { status: 'rejected', reason: expect.objectContaining({ outcome: 'unknown' }) };
  const sum = { update: 'sum' } as const;
  const latest = { update: 'latest' } as const;
  const score = async (name: string): Promise<number> =>
    Number(await admin.client.zscore(`shop:leaderboard:${name}`, 'a'));
  const count = async (name: string): Promise<number> => Number(await admin.client.get(`shop:counter:${name}`));

  it.each([
    ['Counter.incr', () => counters.incr('lost'), () => count('lost')],
    ['Leaderboard.incr', () => boards.board('lost').incr('a'), () => score('lost')],
    ["Leaderboard.submit with 'sum'", () => boards.board('sum', sum).submit('a', 1), () => score('sum')],
    ["Leaderboard.submit with 'latest'", () => boards.board('latest', latest).submit('a', 1), () => score('latest')],
  ] as const)('invariant 11: %s is done once at most when its reply is lost', async (_, call, times) => {
    expect(await lose<unknown>(call)).toMatchObject(unknown);
    expect(await times()).toBe(1);
    await proxy.set('dropUp', { cut: true });
    await expect(call()).rejects.toMatchObject({ outcome: 'unknown' });
    expect(await times()).toBe(1);
  });

  it('invariant 11: with an opId a lost reply is asked for again, and the call happens once', async () => {
    const opId = 'op';
    const first = await lose(() => counters.incr('op', { by: 5, opId }));
    expect([first, await count('op')]).toEqual([{ status: 'fulfilled', value: 5 }, 5]);
    const board = boards.board('op', { ties: 'first' });
    const second = await lose(() => board.incr('a', 3, { opId }));
    expect(second).toEqual({ status: 'fulfilled', value: { changed: true, score: 3, rank: 1 } });
    expect(await board.top(5)).toHaveLength(1);
  });

  it('invariant 11: what may be repeated is repeated, also by the caller, and leaves one entry', async () => {
    const done = { status: 'fulfilled' };
    const feed = feeds.feed<number>('lost');
    const id = await feeds.newId();
    expect(await lose(() => feed.push(1, { id }))).toMatchObject(done);
    await feed.push(1, { id });
    expect((await feed.page()).map((entry) => entry.id)).toEqual([id]);
    const board = boards.board('best');
    expect(await lose(() => board.submit('a', 7))).toMatchObject(done);
    expect(await board.submit('a', 7)).toEqual({ changed: false, score: 7, rank: 1 });
    const unique = new UniqueCounterService(engine.context).counter('lost');
    await unique.add('before');
    expect(await lose(() => unique.add('a'))).toMatchObject(done);
    await unique.add('a');
    expect(await unique.count()).toEqual({ value: 2, exact: true });
  });

  it('are errors by the deadline while it hangs and while it is away, never an empty answer', async () => {
    const filter = new BloomFilterService(engine.context).filter('f', { capacity: 10, errorRate: 0.1 });
    await filter.add('a');
    const calls = [
      () => counters.incr('away'),
      () => counters.get('away'),
      () => boards.board('away').submit('a', 1),
      () => boards.board('away').top(3),
      () => filter.has('b'),
      () => feeds.feed('away').page(),
      () => feeds.feed('away').push(1),
    ];
    await proxy.set('dropUp');
    const began = performance.now();
    for (const answer of await Promise.allSettled(calls.map((call) => call()))) expect(answer.status).toBe('rejected');
    expect(performance.now() - began).toBeLessThan(8000);
    const { written, failed } = await feeds.fanOut(['away', 'gone'], 1);
    expect([written, failed]).toEqual([0, ['away', 'gone']]);
    await proxy.set('refuse');
    for (const call of calls)
      await expect(call()).rejects.toMatchObject({ code: expect.stringMatching(/^ERR_REDIS_/) });
  });
});
