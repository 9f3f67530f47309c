import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { LeaderboardService } from 'nestjs-redis-patterns';
import type { OpenEngine } from '../../support/engine.js';
import { describeOnEachTopology } from '../../support/topologies.js';
import { openBoards } from './test-boards.js';

const DAY = 86_400_000;

describeOnEachTopology('boards', { user: 'leaderboard' }, (topology) => {
  let engine: OpenEngine;
  let boards: LeaderboardService;
  let others: { boards: LeaderboardService; engine: OpenEngine };
  beforeAll(async () => {
    ({ engine, boards } = await openBoards(topology));
    others = await openBoards(topology);
  });
  afterAll(async () => {
    await engine.close();
    await others.engine.close();
  });

  it.each(['first', 'dense'] as const)('stay whole while many write to them, with ties: %s', async (ties) => {
    const definition = { ties, cap: 6 } as const;
    const name = `crowd-${ties}`;
    const writers = [boards.board(name, definition), others.boards.board(name, definition)];
    const members = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
    await Promise.all(
      Array.from({ length: 200 }, (_, n) => {
        const board = writers[n % 2]!;
        const member = members[(n * 7) % 8]!;
        if (n % 10 === 0) return board.remove(member);
        return n % 3 === 0 ? board.submit(member, n % 5, { n }) : board.incr(member, 1 + (n % 2));
      }),
    );
    const entries = await writers[0]!.top(100);
    const sorted = entries.map(({ score }) => score).toSorted((a, b) => b - a);
    expect(entries.length).toBeGreaterThan(0);
    expect(entries.length).toBeLessThanOrEqual(6);
    expect(entries.map(({ score }) => score)).toEqual(sorted);
    const distinct = [...new Set(sorted)];
    const ranks = sorted.map((score, n) => (ties === 'first' ? n + 1 : distinct.indexOf(score) + 1));
    expect(entries.map(({ rank }) => rank)).toEqual(ranks);
    const main = `${topology.namespace}:leaderboard:${name}`;
    const turns = await topology.admin.client.hkeys(`${topology.namespace}:leaderboard~member:{${main}}`);
    expect(turns.filter((each) => each !== '')).toHaveLength(ties === 'first' ? entries.length : 0);
    const counts = await topology.admin.client.hvals(`${topology.namespace}:leaderboard~counts:{${main}}`);
    expect(counts.reduce((sum, count) => sum + Number(count), 0)).toBe(ties === 'dense' ? entries.length : 0);
  });

  it('loses no addition of parallel writers', async () => {
    const writers = [boards.board('sum'), others.boards.board('sum')];
    await Promise.all(Array.from({ length: 300 }, (_, n) => writers[n % 2]!.incr('teapot', 0.25)));
    expect(await writers[0]!.get('teapot')).toEqual({ member: 'teapot', score: 75, rank: 1, data: undefined });
  });

  it('counts an operation once, whoever repeats it, also in another bucket', async () => {
    const board = boards.board('orders', { bucket: 'month', update: 'sum' });
    const first = await board.incr('teapot', 2, { opId: 'order 1' });
    await board.incr('kettle', 9);
    expect(await board.incr('teapot', 2, { opId: 'order 1' })).toEqual(first);
    // The month may be over when a message is delivered again.
    const later = { opId: 'order 1', at: new Date(Date.now() + 40 * DAY) };
    expect(await others.boards.board('orders', { bucket: 'month' }).incr('teapot', 2, later)).toEqual(first);
    expect(await board.submit('teapot', 3, undefined, { opId: 'order 2' })).toEqual({
      changed: true,
      score: 5,
      rank: 2,
    });
    expect(await board.get('teapot')).toMatchObject({ score: 5 });
    // Another product of the same order.
    expect(await board.incr('cup', 1, { opId: 'order 2' })).toMatchObject({ changed: true, score: 1 });
    const [operation] = await topology.admin.keys(`${topology.namespace}:leaderboard~op:*`);
    expect(await topology.admin.client.pttl(operation!)).toBeGreaterThan(0);
  });

  it('write to the bucket of the clock of Redis, whatever the clocks of their processes show', async () => {
    const [fast, slow] = [await openBoards(topology), await openBoards(topology)];
    const clock = jest.spyOn(Date, 'now');
    try {
      const real = Number((await topology.admin.masters()[0]!.time())[0]) * 1000;
      clock.mockReturnValue(real + 40 * DAY);
      await fast.boards.board('sellers', { bucket: 'week' }).submit('a', 1);
      clock.mockReturnValue(real - 40 * DAY);
      await slow.boards.board('sellers', { bucket: 'week' }).submit('b', 2);
      const readers = [await openBoards(topology)];
      expect(await readers[0]!.boards.board('sellers', { bucket: 'week' }).size()).toBe(2);
      await readers[0]!.engine.close();
    } finally {
      clock.mockRestore();
      await fast.engine.close();
      await slow.engine.close();
    }
    expect(await topology.admin.keys(`${topology.namespace}:leaderboard:{sellers}:*`)).toHaveLength(1);
  });

  it('end with their bucket, and take one by hand', async () => {
    const board = boards.board(['shop', 7], { bucket: 'day', ttl: '2d', ties: 'dense' });
    const tomorrow = new Date(Date.now() + DAY);
    await board.submit('a', 1, 'data', { at: tomorrow });
    const id = tomorrow.toISOString().slice(0, 10);
    const main = `${topology.namespace}:leaderboard:{shop:7}:${id}`;
    const { client } = topology.admin;
    const end = Date.parse(id) + 3 * DAY;
    const keys = [
      main,
      ...['data', 'counts', 'scores'].map((role) => `${topology.namespace}:leaderboard~${role}:${main}`),
    ];
    for (const key of keys) expect(await client.pexpiretime(key)).toBe(end);
    expect([await board.rank('a', { at: id }), await board.rank('a')]).toEqual([1, undefined]);
    expect([await board.clear({ at: id }), await board.clear({ at: id })]).toEqual([true, false]);
    expect(await topology.admin.keys(`${topology.namespace}:leaderboard*shop:7}*`)).toEqual([]);
  });

  describe('refuse', () => {
    it('scores that are not exact, and change nothing', async () => {
      const board = boards.board('numbers');
      for (const score of [NaN, Infinity, -Infinity, 2 ** 53, -(2 ** 53), '7' as unknown as number]) {
        await expect(board.submit('a', score)).rejects.toMatchObject({ code: 'ERR_INVALID_OPTIONS' });
      }
      await board.submit('a', Number.MAX_SAFE_INTEGER);
      await expect(board.incr('a')).rejects.toMatchObject({ code: 'ERR_NUMBER_RANGE' });
      expect(await board.top(5)).toEqual([{ member: 'a', score: Number.MAX_SAFE_INTEGER, rank: 1, data: undefined }]);
    });

    it('what is no member, size, bucket or definition, naming it', async () => {
      const board = boards.board('refused');
      await expect(board.submit('', 1)).rejects.toThrow('member: must be a text that is not empty');
      await expect(board.submit('\ud800', 1)).rejects.toThrow('member: holds half of a surrogate pair');
      await expect(board.page({ size: 1001 })).rejects.toThrow('size: must be an integer from 1 to 1000');
      await expect(board.top(1, { at: '2026-11-30' })).rejects.toThrow("give the option 'bucket'");
      const twice = [1, 2].map((score) => ({ member: 'a', score }));
      await expect(board.submitMany(twice)).rejects.toThrow('has a member twice');
      await expect(board.submitMany([{ member: 'b', score: NaN }])).rejects.toThrow('submissions[0].score');
      const days = boards.board('refused', { bucket: 'day' });
      await expect(days.submit('a', 1, 0, { at: '2026-02-30' })).rejects.toThrow('at: is no day');
      await expect(days.submit('a', 1, 0, { at: '2020-01-01' })).rejects.toThrow('expired already');
      expect(() => boards.board('x', { ties: 'none' as 'first' })).toThrow("ties: must be 'competition'");
      expect(() => boards.board('x', { tz: 'Mars/Base' })).toThrow('tz: is no time zone');
      expect(() => boards.board(['x', undefined])).toThrow('has nothing in part 1');
      expect(await topology.admin.keys(`${topology.namespace}:leaderboard*refused*`)).toEqual([]);
    });
  });

  it('invariant 7: leave no key without an end', async () => {
    expect((await topology.admin.keys(`${topology.namespace}:*`)).length).toBeGreaterThan(0);
    expect(await topology.admin.keysWithoutEnd(`${topology.namespace}:*`)).toEqual([]);
  });
});
