// Commands on sorted sets.
import { float, integer, Options, slice } from './arguments.js';
import type { Command } from './commands.js';
import type { Keyspace, Reply, SortedSet } from './keyspace.js';

type Member = readonly [member: string, score: number];
type Inside = (member: Member) => boolean;

const zset = (space: Keyspace, key: string): SortedSet => space.get('zset', key) ?? new Map<string, number>();

function sorted(space: Keyspace, key: string): Member[] {
  return [...zset(space, key)].toSorted(([a, x], [b, y]) => x - y || (a < b ? -1 : a > b ? 1 : 0));
}

/** As Redis writes a score: 17 digits at most, none for what is whole. */
function scoreText(score: number): string {
  if (Number.isFinite(score)) return String(score);
  return score > 0 ? 'inf' : '-inf';
}

function scoreRange(min: string, max: string): Inside {
  const bound = (text: string): [number, boolean] => [float(text.replace(/^\(/, '')), text.startsWith('(')];
  const [[low, lowOpen], [high, highOpen]] = [bound(min), bound(max)];
  return ([, score]) => (lowOpen ? score > low : score >= low) && (highOpen ? score < high : score <= high);
}

function lexRange(min: string, max: string): Inside {
  const above = (member: string): boolean =>
    min === '-' || (min !== '+' && (min.startsWith('(') ? member > min.slice(1) : member >= min.slice(1)));
  const below = (member: string): boolean =>
    max === '+' || (max !== '-' && (max.startsWith('(') ? member < max.slice(1) : member <= max.slice(1)));
  return ([member]) => above(member) && below(member);
}

function add(space: Keyspace, [key = '', ...rest]: string[]): Reply {
  const options = new Options(rest);
  const flags = new Set<string>();
  for (let found = true; found;) {
    found = false;
    for (const name of ['NX', 'XX', 'GT', 'LT', 'CH', 'INCR']) {
      if (!options.flag(name)) continue;
      flags.add(name);
      found = true;
    }
  }
  const members = space.open('zset', key, () => new Map());
  let [added, changed] = [0, 0];
  let last: Reply = null;
  while (options.more) {
    const given = float(options.next());
    const member = options.next();
    const old = members.get(member);
    const score = flags.has('INCR') ? (old ?? 0) + given : given;
    const refused =
      (flags.has('NX') && old !== undefined) ||
      (flags.has('XX') && old === undefined) ||
      (flags.has('GT') && old !== undefined && score <= old) ||
      (flags.has('LT') && old !== undefined && score >= old);
    if (refused) continue;
    members.set(member, score);
    last = scoreText(score);
    if (old === undefined) added++;
    else if (old !== score) changed++;
  }
  space.deleteIfEmpty(key, members.size);
  if (flags.has('INCR')) return last;
  return flags.has('CH') ? added + changed : added;
}

function listed(members: readonly Member[], withScores: boolean): Reply {
  return withScores
    ? members.flatMap(([member, score]) => [member, scoreText(score)])
    : members.map(([member]) => member);
}

function range(space: Keyspace, [key = '', start = '', stop = '', ...rest]: string[]): Reply {
  const options = new Options(rest);
  let by: 'rank' | 'score' | 'lex' = 'rank';
  let [reverse, withScores] = [false, false];
  let limit: readonly [number, number] | undefined;
  while (options.more) {
    if (options.flag('BYSCORE')) by = 'score';
    else if (options.flag('BYLEX')) by = 'lex';
    else if (options.flag('REV')) reverse = true;
    else if (options.flag('WITHSCORES')) withScores = true;
    else if (options.flag('LIMIT')) limit = [integer(options.next()), integer(options.next())];
    else options.fail();
  }
  const all = reverse ? sorted(space, key).reverse() : sorted(space, key);
  if (by === 'rank') return listed(slice(all, integer(start), integer(stop)), withScores);
  const [low, high] = reverse ? [stop, start] : [start, stop];
  const inside = all.filter(by === 'score' ? scoreRange(low, high) : lexRange(low, high));
  if (limit === undefined) return listed(inside, withScores);
  const [offset, count] = limit;
  return listed(inside.slice(offset, count < 0 ? undefined : offset + count), withScores);
}

function rank(space: Keyspace, key: string, member: string, reverse: boolean): number | null {
  const all = sorted(space, key);
  const at = all.findIndex(([each]) => each === member);
  if (at < 0) return null;
  return reverse ? all.length - 1 - at : at;
}

function removeAll(space: Keyspace, key: string, gone: readonly Member[]): number {
  const members = zset(space, key);
  for (const [member] of gone) members.delete(member);
  space.deleteIfEmpty(key, members.size);
  return gone.length;
}

function popFirst(space: Keyspace, key: string, count: number, reverse: boolean): Reply {
  const all = sorted(space, key);
  const taken = (reverse ? all.reverse() : all).slice(0, count);
  removeAll(space, key, taken);
  return listed(taken, true);
}

const reversed = (args: string[], by: string): string[] => {
  const [key = '', first = '', second = '', ...rest] = args;
  return [key, first, second, 'REV', ...(by === '' ? [] : [by]), ...rest];
};

export const SORTED_SETS: Record<string, Command> = {
  ZADD: add,
  ZINCRBY: (space, [key = '', by = '', member = '']) => add(space, [key, 'INCR', by, member]),
  ZREM: (space, [key = '', ...members]) => {
    const found = members.filter((member) => zset(space, key).has(member));
    return removeAll(
      space,
      key,
      found.map((member) => [member, 0]),
    );
  },
  ZSCORE: (space, [key = '', member = '']) => {
    const score = zset(space, key).get(member);
    return score === undefined ? null : scoreText(score);
  },
  ZMSCORE: (space, [key = '', ...members]) =>
    members.map((member) => (zset(space, key).has(member) ? scoreText(zset(space, key).get(member)!) : null)),
  ZCARD: (space, [key = '']) => zset(space, key).size,
  ZCOUNT: (space, [key = '', min = '', max = '']) => sorted(space, key).filter(scoreRange(min, max)).length,
  ZLEXCOUNT: (space, [key = '', min = '', max = '']) => sorted(space, key).filter(lexRange(min, max)).length,
  ZRANK: (space, [key = '', member = '']) => rank(space, key, member, false),
  ZREVRANK: (space, [key = '', member = '']) => rank(space, key, member, true),
  ZRANGE: range,
  ZREVRANGE: (space, args) => range(space, reversed(args, '')),
  ZRANGEBYSCORE: (space, [key = '', min = '', max = '', ...rest]) => range(space, [key, min, max, 'BYSCORE', ...rest]),
  ZREVRANGEBYSCORE: (space, args) => range(space, reversed(args, 'BYSCORE')),
  ZRANGEBYLEX: (space, [key = '', min = '', max = '', ...rest]) => range(space, [key, min, max, 'BYLEX', ...rest]),
  ZREMRANGEBYSCORE: (space, [key = '', min = '', max = '']) =>
    removeAll(space, key, sorted(space, key).filter(scoreRange(min, max))),
  ZREMRANGEBYLEX: (space, [key = '', min = '', max = '']) =>
    removeAll(space, key, sorted(space, key).filter(lexRange(min, max))),
  ZREMRANGEBYRANK: (space, [key = '', start, stop]) =>
    removeAll(space, key, slice(sorted(space, key), integer(start), integer(stop))),
  ZPOPMIN: (space, [key = '', count = '1']) => popFirst(space, key, integer(count), false),
  ZPOPMAX: (space, [key = '', count = '1']) => popFirst(space, key, integer(count), true),
};
