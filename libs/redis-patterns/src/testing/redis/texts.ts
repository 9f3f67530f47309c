// Commands on texts, on keys of any type, and on the server.
import { float, globExpression, integer, Options } from './arguments.js';
import type { Command } from './commands.js';
import { ReplyError, type Keyspace, type Reply } from './keyspace.js';

function set(space: Keyspace, [key = '', value = '', ...rest]: string[]): Reply {
  const options = new Options(rest);
  const before = space.entry(key);
  const old = rest.some((word) => word.toUpperCase() === 'GET') ? (space.get('string', key) ?? null) : undefined;
  let expiresAt: number | undefined;
  let stored = true;
  while (options.more) {
    if (options.flag('PX')) expiresAt = space.now + lifetime(options.next());
    else if (options.flag('EX')) expiresAt = space.now + lifetime(options.next()) * 1000;
    else if (options.flag('PXAT')) expiresAt = integer(options.next());
    else if (options.flag('KEEPTTL')) expiresAt = before?.expiresAt;
    else if (options.flag('NX')) stored &&= before === undefined;
    else if (options.flag('XX')) stored &&= before !== undefined;
    else if (!options.flag('GET')) options.fail();
  }
  if (stored) space.setText(key, value, expiresAt);
  if (old !== undefined) return old;
  return stored ? 'OK' : null;
}

function lifetime(text: string): number {
  const ms = integer(text);
  if (ms <= 0) throw new ReplyError("ERR invalid expire time in 'set' command");
  return ms;
}

function increase(space: Keyspace, key: string, by: number): number {
  const value = integer(space.get('string', key) ?? '0') + by;
  space.changeText(key, String(value));
  return value;
}

/** `NX`, `XX`, `GT`, `LT` of the EXPIRE family. */
function expireAt(space: Keyspace, key: string, at: number, [flag]: string[]): number {
  const entry = space.entry(key);
  if (entry === undefined) return 0;
  const now = entry.expiresAt;
  const refused: Record<string, boolean> = {
    NX: now !== undefined,
    XX: now === undefined,
    GT: now === undefined || at <= now,
    LT: now !== undefined && at >= now,
  };
  if (flag !== undefined && refused[flag.toUpperCase()]) return 0;
  if (at <= space.now) space.delete(key);
  else entry.expiresAt = at;
  return 1;
}

function left(space: Keyspace, key: string, unit: number): number {
  const entry = space.entry(key);
  if (entry === undefined) return -2;
  return entry.expiresAt === undefined ? -1 : Math.ceil((entry.expiresAt - space.now) / unit);
}

/** The whole keyspace in one page. */
function scan(space: Keyspace, [, ...rest]: string[]): Reply {
  const options = new Options(rest);
  let keys = space.keys();
  while (options.more) {
    if (options.flag('MATCH')) {
      const glob = globExpression(options.next());
      keys = keys.filter((key) => glob.test(key));
    } else if (options.flag('TYPE')) {
      const type = options.next();
      keys = keys.filter((key) => space.entry(key)?.type === type);
    } else if (options.flag('COUNT')) options.next();
    else options.fail();
  }
  return ['0', keys];
}

function setRange(space: Keyspace, [key = '', offset, value = '']: string[]): number {
  const at = integer(offset);
  const old = (space.get('string', key) ?? '').padEnd(at, '\0');
  const text = old.slice(0, at) + value + old.slice(at + value.length);
  space.changeText(key, text);
  return text.length;
}

function getRange(space: Keyspace, [key = '', start, end]: string[]): string {
  const text = space.get('string', key) ?? '';
  const [from, to] = [integer(start), integer(end)];
  return text.slice(from < 0 ? Math.max(0, text.length + from) : from, to < 0 ? text.length + to + 1 : to + 1);
}

function setBit(space: Keyspace, [key = '', offset, bit]: string[]): number {
  const at = integer(offset);
  const bytes = Array.from(space.get('string', key) ?? '', (char) => char.charCodeAt(0));
  while (bytes.length <= at >> 3) bytes.push(0);
  const mask = 0x80 >> (at & 7);
  const old = (bytes[at >> 3]! & mask) === 0 ? 0 : 1;
  bytes[at >> 3] = bit === '1' ? bytes[at >> 3]! | mask : bytes[at >> 3]! & ~mask;
  space.changeText(key, String.fromCharCode(...bytes));
  return old;
}

function getBit(space: Keyspace, [key = '', offset]: string[]): number {
  const at = integer(offset);
  const byte = (space.get('string', key) ?? '').charCodeAt(at >> 3) || 0;
  return (byte & (0x80 >> (at & 7))) === 0 ? 0 : 1;
}

function dump(value: unknown): string | null {
  if (value === undefined) return null;
  return JSON.stringify(value instanceof Map || value instanceof Set ? [...value] : value);
}

function count(space: Keyspace, keys: string[], each: (key: string) => boolean): number {
  return keys.filter((key) => each(key)).length;
}

export const TEXTS: Record<string, Command> = {
  GET: (space, [key = '']) => space.get('string', key) ?? null,
  MGET: (space, keys) => keys.map((key) => (space.entry(key)?.type === 'string' ? space.get('string', key)! : null)),
  SET: set,
  GETDEL: (space, [key = '']) => {
    const value = space.get('string', key) ?? null;
    space.delete(key);
    return value;
  },
  STRLEN: (space, [key = '']) => (space.get('string', key) ?? '').length,
  APPEND: (space, [key = '', value = '']) => {
    const text = (space.get('string', key) ?? '') + value;
    space.changeText(key, text);
    return text.length;
  },
  INCR: (space, [key = '']) => increase(space, key, 1),
  DECR: (space, [key = '']) => increase(space, key, -1),
  INCRBY: (space, [key = '', by]) => increase(space, key, integer(by)),
  DECRBY: (space, [key = '', by]) => increase(space, key, -integer(by)),
  INCRBYFLOAT: (space, [key = '', by]) => {
    const value = String(float(space.get('string', key) ?? '0') + float(by));
    space.changeText(key, value);
    return value;
  },
  GETRANGE: getRange,
  SETRANGE: setRange,
  SETBIT: setBit,
  GETBIT: getBit,
  DEL: (space, keys) => count(space, keys, (key) => space.delete(key)),
  UNLINK: (space, keys) => count(space, keys, (key) => space.delete(key)),
  EXISTS: (space, keys) => count(space, keys, (key) => space.entry(key) !== undefined),
  TYPE: (space, [key = '']) => {
    const type = space.entry(key)?.type ?? 'none';
    return type === 'hyperloglog' ? 'string' : type;
  },
  TTL: (space, [key = '']) => left(space, key, 1000),
  PTTL: (space, [key = '']) => left(space, key, 1),
  PEXPIRETIME: (space, [key = '']) => space.entry(key)?.expiresAt ?? (space.entry(key) === undefined ? -2 : -1),
  EXPIRE: (space, [key = '', s, ...flags]) => expireAt(space, key, space.now + integer(s) * 1000, flags),
  PEXPIRE: (space, [key = '', ms, ...flags]) => expireAt(space, key, space.now + integer(ms), flags),
  PEXPIREAT: (space, [key = '', at, ...flags]) => expireAt(space, key, integer(at), flags),
  PERSIST: (space, [key = '']) => {
    const entry = space.entry(key);
    if (entry?.expiresAt === undefined) return 0;
    entry.expiresAt = undefined;
    return 1;
  },
  // Texts that are equal when the values are: there is no RESTORE.
  DUMP: (space, [key = '']) => dump(space.entry(key)?.value),
  KEYS: (space, [glob = '*']) => space.keys().filter((key) => globExpression(glob).test(key)),
  SCAN: scan,
  DBSIZE: (space) => space.keys().length,
  FLUSHALL: (space) => {
    space.clear();
    return 'OK';
  },
  FLUSHDB: (space) => {
    space.clear();
    return 'OK';
  },
  PING: () => 'PONG',
  // There are no replicas.
  WAIT: () => 0,
  INFO: () =>
    '# Server\r\nredis_version:7.0.0\r\nrun_id:memory\r\nuptime_in_seconds:1000000\r\n# Replication\r\nrole:master\r\n',
  TIME: (space) => {
    const micros = space.tick();
    return [String(Math.floor(micros / 1_000_000)), String(micros % 1_000_000)];
  },
};
