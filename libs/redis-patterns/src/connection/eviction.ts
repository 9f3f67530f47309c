import type { ResolvedConnectionOptions } from './connection.schema.js';
import type { ServerInfo } from './server-info.js';

/** A pattern that uses a connection, and whether its keys may disappear before their time. */
export interface ConnectionUser {
  readonly name: string;
  readonly keeps: 'cache' | 'durable';
}

const SPLIT =
  "give cache and durable patterns a connection each: connections: { cache: …, durable: … }, and 'connection' in the options of the patterns";

/**
 * Why `maxmemory-policy` does not fit what is kept, with the remedy; `undefined` when it fits or is not known.
 *
 * Locks, sessions and limits have TTLs, so `volatile-*` evicts just them first: for what must not disappear only
 * `noeviction` is right (Redis docs, "Key eviction").
 */
export function evictionFault(
  purpose: ResolvedConnectionOptions['purpose'],
  servers: readonly ServerInfo[],
  users: readonly ConnectionUser[],
): string | undefined {
  const evicting = servers.find(({ maxmemoryPolicy: policy }) => policy !== undefined && policy !== 'noeviction');
  if (evicting === undefined) return purpose === 'cache' ? fullCacheFault(servers) : undefined;
  const policy = `maxmemory-policy '${evicting.maxmemoryPolicy}'`;
  const durable = namesOf(users, 'durable');
  const cache = namesOf(users, 'cache');
  if (durable !== '' && cache !== '') {
    return `${policy} fits ${cache}, but evicts the keys of ${durable} as well; ${SPLIT}`;
  }
  if (durable !== '') {
    return `${policy} may evict the keys of ${durable} before their time; set maxmemory-policy noeviction on that server, or use another one`;
  }
  if (purpose !== 'durable') return undefined;
  return `${policy} may evict any key, but its 'purpose' is 'durable'; set maxmemory-policy noeviction on that server`;
}

function fullCacheFault(servers: readonly ServerInfo[]): string | undefined {
  const full = servers.some(({ maxmemory, maxmemoryPolicy }) => maxmemoryPolicy === 'noeviction' && maxmemory! > 0);
  if (!full) return undefined;
  return "maxmemory-policy 'noeviction' refuses writes once the memory is full, but its 'purpose' is 'cache'; set maxmemory-policy allkeys-lfu (or allkeys-lru) on that server";
}

function namesOf(users: readonly ConnectionUser[], keeps: ConnectionUser['keeps']): string {
  return users
    .filter((user) => user.keeps === keeps)
    .map(({ name }) => `'${name}'`)
    .join(', ');
}
