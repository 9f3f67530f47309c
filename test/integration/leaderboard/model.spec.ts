import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Leaderboard, LeaderboardService, SubmitResult } from 'nestjs-redis-patterns';
import type { OpenEngine } from '../../support/engine.js';
import { describeOnEachTopology, type SharedTopology } from '../../support/topologies.js';
import { NaiveBoard } from './naive-board.js';
import { openBoards } from './test-boards.js';

type Step =
  | { readonly kind: 'submit' | 'incr'; readonly member: string; readonly score: number; readonly data?: string }
  | { readonly kind: 'many'; readonly scores: readonly { member: string; score: number }[] }
  | { readonly kind: 'remove'; readonly member: string };

const member = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g');
// Few scores, so that there are many ties; some that are no integers, negative, or at the edge of what is exact.
const score = fc.constantFrom(0, -0, 1, 2, 2, 3, -1, 0.1, 0.3, 1e-9, 4_503_599_627_370_497);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('submit' as const), member, score, data: fc.string() }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('incr' as const), member, score }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('many' as const),
      scores: fc.uniqueArray(fc.record({ member, score }), { selector: (each) => each.member, minLength: 1 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('remove' as const), member }) },
);

const MEMBERS = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'nobody'];

describeOnEachTopology('a board and a naive one', { user: 'leaderboard' }, (topology) => {
  let engine: OpenEngine;
  let boards: LeaderboardService;
  let serial = 0;
  beforeAll(async () => {
    ({ engine, boards } = await openBoards(topology));
  });
  afterAll(() => engine.close());

  describe.each(['desc', 'asc'] as const)('%s', (order) => {
    it.each(['competition', 'first', 'dense'] as const)('invariants 5 and 6: agree, with ties: %s', async (ties) => {
      for (const update of ['best', 'sum', 'latest'] as const) {
        const property = fc.asyncProperty(
          fc.array(step, { minLength: 1, maxLength: 25 }),
          fc.constantFrom(3, 100),
          async (steps, cap) => {
            const name = `board-${serial++}`;
            const board = boards.board(name, { order, ties, update, cap });
            const naive = new NaiveBoard({ order, ties, update, cap });
            for (const each of steps) await take(board, naive, each);
            await compare(board, naive);
            await checkKeys(topology, name, ties);
          },
        );
        await fc.assert(property, { numRuns: topology.mode === 'standalone' ? 12 : 4, seed: 26 });
      }
    });
  });
});

async function take(board: Leaderboard, naive: NaiveBoard, each: Step): Promise<void> {
  const before = JSON.stringify(naive.entries);
  try {
    applyTo(naive, each);
  } catch {
    await expect(call(board, each)).rejects.toMatchObject({ code: 'ERR_NUMBER_RANGE' });
    return;
  }
  const results = await call(board, each);
  if (typeof results === 'boolean') return expect(results).toBe(before !== JSON.stringify(naive.entries));
  const changed = results.some((result) => result.changed);
  expect(changed).toBe(before !== JSON.stringify(naive.entries));
  const members = each.kind === 'many' ? each.scores.map((score) => score.member) : [each.member];
  const there = members.map((name) => naive.entries.find((entry) => entry.member === name));
  expect(results.map(({ score: value, rank }) => [value, rank])).toEqual(
    there.map((entry) => [entry?.score, entry?.rank]),
  );
}

function applyTo(naive: NaiveBoard, each: Step): void {
  if (each.kind === 'submit') naive.submit(each.member, each.score, each.data);
  else if (each.kind === 'incr') naive.submit(each.member, each.score, undefined, 'sum');
  else if (each.kind === 'many') naive.submitMany(each.scores);
  else naive.remove(each.member);
}

async function call(board: Leaderboard, each: Step): Promise<SubmitResult[] | boolean> {
  if (each.kind === 'submit') return [await board.submit(each.member, each.score, each.data)];
  if (each.kind === 'incr') return [await board.incr(each.member, each.score)];
  return each.kind === 'many' ? board.submitMany(each.scores) : board.remove(each.member);
}

/** Pages, neighbours and ranks are parts of one order. */
async function compare(board: Leaderboard, naive: NaiveBoard): Promise<void> {
  const { entries } = naive;
  expect(await board.top(100)).toEqual(entries);
  expect(await board.page({ offset: 1, size: 3 })).toEqual(entries.slice(1, 4));
  expect(await board.size()).toBe(entries.length);
  expect(await board.ranks(MEMBERS)).toEqual(entries);
  for (const [index, entry] of entries.entries()) {
    expect(await board.get(entry.member)).toEqual(entry);
    const start = Math.max(0, Math.min(index - 1, entries.length - 3));
    expect(await board.around(entry.member, { size: 3 })).toEqual(entries.slice(start, start + 3));
  }
  expect([await board.rank('nobody'), await board.around('nobody')]).toEqual([undefined, []]);
}

/** Beside the board stand its members and nobody else, and all of it ends at one moment. */
async function checkKeys({ admin, namespace }: SharedTopology, name: string, ties: string): Promise<void> {
  const main = `${namespace}:leaderboard:${name}`;
  const beside = (role: string): string => `${namespace}:leaderboard~${role}:{${main}}`;
  const { client } = admin;
  const entries = await client.zrange(main, '0', '-1', 'WITHSCORES');
  const names = entries.filter((_, n) => n % 2 === 0).map((entry) => (ties === 'first' ? entry.slice(16) : entry));
  const scores = entries.filter((_, n) => n % 2 === 1).map(Number);
  const kept = (await client.hkeys(beside('member'))).filter((each) => each !== '');
  expect(kept.toSorted()).toEqual(ties === 'first' ? names.toSorted() : []);
  for (const each of await client.hkeys(beside('data'))) expect(names).toContain(each);
  const counts = Object.entries(await client.hgetall(beside('counts'))).map(([text, count]) => [
    Number(text),
    Number(count),
  ]);
  const wanted = ties === 'dense' ? [...new Set(scores)] : [];
  expect(new Map(counts as [number, number][])).toEqual(
    new Map(wanted.map((each) => [each, scores.filter((other) => other === each).length])),
  );
  expect(new Set((await client.zrange(beside('scores'), '0', '-1')).map(Number))).toEqual(new Set(wanted));
  const keys = [main, ...['member', 'data', 'counts', 'scores'].map(beside)];
  const ends = (await Promise.all(keys.map((key) => client.pexpiretime(key)))).filter((end) => end !== -2);
  expect(new Set(ends).size).toBeLessThanOrEqual(1);
  for (const end of ends) expect(end).toBeGreaterThan(Date.now());
}
