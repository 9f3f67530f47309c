// Commands on hashes, lists, sets and HyperLogLogs, which count exactly here.
import { float, integer, pairs, slice } from './arguments.js';
import type { Command } from './commands.js';
import { ReplyError, type Keyspace } from './keyspace.js';

const hash = (space: Keyspace, key: string) => space.get('hash', key) ?? new Map<string, string>();
const list = (space: Keyspace, key: string) => space.get('list', key) ?? [];
const set = (space: Keyspace, key: string) => space.get('set', key) ?? new Set<string>();
const hll = (space: Keyspace, key: string) => space.get('hyperloglog', key) ?? new Set<string>();

function setFields(space: Keyspace, key: string, fields: readonly string[]): number {
  const values = pairs(fields);
  const map = space.open('hash', key, () => new Map());
  const before = map.size;
  for (const [field, value] of values) map.set(field, value);
  return map.size - before;
}

function remove(
  space: Keyspace,
  key: string,
  members: string[],
  from: { size: number; delete(m: string): boolean },
): number {
  const removed = members.filter((member) => from.delete(member)).length;
  space.deleteIfEmpty(key, from.size);
  return removed;
}

function addAll(target: Set<string>, members: readonly string[]): number {
  const before = target.size;
  for (const member of members) target.add(member);
  return target.size - before;
}

function push(space: Keyspace, key: string, items: string[], atEnd: boolean): number {
  const values = space.open('list', key, () => []);
  for (const item of items) {
    if (atEnd) values.push(item);
    else values.unshift(item);
  }
  return values.length;
}

function pop(space: Keyspace, key: string, take: (items: string[]) => string | undefined): string | null {
  const items = list(space, key);
  const value = take(items) ?? null;
  space.deleteIfEmpty(key, items.length);
  return value;
}

function removeItems(space: Keyspace, [key = '', amount, item]: string[]): number {
  const items = list(space, key);
  const most = integer(amount);
  let removed = 0;
  for (let n = 0; n < items.length && (most === 0 || removed < Math.abs(most));) {
    const at = most < 0 ? items.length - 1 - n : n;
    if (items[at] === item) {
      items.splice(at, 1);
      removed++;
    } else n++;
  }
  space.deleteIfEmpty(key, items.length);
  return removed;
}

function trim(space: Keyspace, [key = '', start, stop]: string[]): 'OK' {
  const items = list(space, key);
  const kept = slice(items, integer(start), integer(stop));
  items.splice(0, items.length, ...kept);
  space.deleteIfEmpty(key, items.length);
  return 'OK';
}

function increaseField(space: Keyspace, [key = '', field = '', by]: string[]): number {
  const map = space.open('hash', key, () => new Map());
  const value = integer(map.get(field) ?? '0') + integer(by);
  map.set(field, String(value));
  return value;
}

export const COLLECTIONS: Record<string, Command> = {
  HGET: (space, [key = '', field = '']) => hash(space, key).get(field) ?? null,
  HMGET: (space, [key = '', ...fields]) => fields.map((field) => hash(space, key).get(field) ?? null),
  HGETALL: (space, [key = '']) => [...hash(space, key)].flat(),
  HKEYS: (space, [key = '']) => [...hash(space, key).keys()],
  HVALS: (space, [key = '']) => [...hash(space, key).values()],
  HLEN: (space, [key = '']) => hash(space, key).size,
  HEXISTS: (space, [key = '', field = '']) => (hash(space, key).has(field) ? 1 : 0),
  HSET: (space, [key = '', ...fields]) => setFields(space, key, fields),
  HSETNX: (space, [key = '', field = '', value = '']) =>
    hash(space, key).has(field) ? 0 : setFields(space, key, [field, value]),
  HDEL: (space, [key = '', ...fields]) => remove(space, key, fields, hash(space, key)),
  HINCRBY: increaseField,
  HINCRBYFLOAT: (space, [key = '', field = '', by]) => {
    const value = String(float(hash(space, key).get(field) ?? '0') + float(by));
    setFields(space, key, [field, value]);
    return value;
  },
  RPUSH: (space, [key = '', ...items]) => push(space, key, items, true),
  LPUSH: (space, [key = '', ...items]) => push(space, key, items, false),
  RPOP: (space, [key = '']) => pop(space, key, (items) => items.pop()),
  LPOP: (space, [key = '']) => pop(space, key, (items) => items.shift()),
  LLEN: (space, [key = '']) => list(space, key).length,
  LINDEX: (space, [key = '', index]) => list(space, key).at(integer(index)) ?? null,
  LRANGE: (space, [key = '', start, stop]) => slice(list(space, key), integer(start), integer(stop)),
  LTRIM: trim,
  LREM: removeItems,
  LSET: (space, [key = '', index, value = '']) => {
    const items = list(space, key);
    const at = integer(index) < 0 ? items.length + integer(index) : integer(index);
    if (items[at] === undefined) throw new ReplyError('ERR index out of range');
    items[at] = value;
    return 'OK';
  },
  SADD: (space, [key = '', ...members]) =>
    addAll(
      space.open('set', key, () => new Set()),
      members,
    ),
  SREM: (space, [key = '', ...members]) => remove(space, key, members, set(space, key)),
  SCARD: (space, [key = '']) => set(space, key).size,
  SISMEMBER: (space, [key = '', member = '']) => (set(space, key).has(member) ? 1 : 0),
  SMISMEMBER: (space, [key = '', ...members]) => members.map((member) => (set(space, key).has(member) ? 1 : 0)),
  SMEMBERS: (space, [key = '']) => [...set(space, key)],
  SUNION: (space, keys) => [...new Set(keys.flatMap((key) => [...set(space, key)]))],
  SUNIONSTORE: (space, [target = '', ...keys]) => {
    const members = keys.flatMap((key) => [...set(space, key)]);
    space.delete(target);
    return members.length === 0
      ? 0
      : addAll(
          space.open('set', target, () => new Set()),
          members,
        );
  },
  SSCAN: (space, [key = '']) => ['0', [...set(space, key)]],
  HSCAN: (space, [key = '']) => ['0', [...hash(space, key)].flat()],
  PFADD: (space, [key = '', ...members]) =>
    addAll(
      space.open('hyperloglog', key, () => new Set()),
      members,
    ) > 0
      ? 1
      : 0,
  PFCOUNT: (space, keys) => new Set(keys.flatMap((key) => [...hll(space, key)])).size,
  PFMERGE: (space, [target = '', ...keys]) => {
    addAll(
      space.open('hyperloglog', target, () => new Set()),
      keys.flatMap((key) => [...hll(space, key)]),
    );
    return 'OK';
  },
};
