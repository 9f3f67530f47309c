import { Cluster, Redis, type ClusterOptions, type RedisOptions } from 'ioredis';
import type { PlainConnection, PlainSecurity } from '../../scripts/servers/index.mjs';
import { isInMemory, openMemoryClient } from './memory.js';

/** A raw client for assertions: what is in Redis is looked at without the library. */
export class RedisAdmin {
  #closed = false;

  private constructor(
    readonly client: Redis | Cluster,
    /** What it was connected with. */
    readonly connection: PlainConnection,
  ) {}

  /** Connects with ordinary ioredis defaults (it rides over failovers by waiting). */
  static async connect(connection: PlainConnection, options: RedisOptions & ClusterOptions = {}): Promise<RedisAdmin> {
    if (isInMemory(connection)) return new RedisAdmin(openMemoryClient(), connection);
    const client = createClient(connection, options);
    // Without a listener ioredis prints each failed attempt; specs that break servers expect those.
    client.on('error', () => {});
    await client.connect();
    const admin = new RedisAdmin(client, connection);
    // ioredis ends for good when a failover is told while it asks the Sentinels for the address.
    if (connection.mode === 'sentinel') {
      client.on('end', () => {
        if (!admin.#closed) client.connect().catch(() => {});
      });
    }
    return admin;
  }

  /** The masters, each with a client of its own: for commands that concern one server. */
  masters(): Redis[] {
    return this.client instanceof Cluster ? this.client.nodes('master') : [this.client];
  }

  /** All keys that match a glob, on all masters, sorted. */
  async keys(pattern: string): Promise<string[]> {
    const found = await Promise.all(this.masters().map((master) => master.keys(pattern)));
    return found.flat().toSorted();
  }

  /** Those of them that would stay for ever. */
  async keysWithoutEnd(pattern: string): Promise<string[]> {
    const keys = await this.keys(pattern);
    const ends = await Promise.all(keys.map((key) => this.client.pttl(key)));
    return keys.filter((_, n) => ends[n] === -1);
  }

  /** Deletes all keys that match a glob, one by one (in Cluster they live in different slots). */
  async deleteKeys(pattern: string): Promise<void> {
    await Promise.all((await this.keys(pattern)).map((key) => this.client.del(key)));
  }

  /** How often each command ran since the servers' statistics were reset, over all masters. */
  async commandCounts(): Promise<Record<string, number>> {
    const counts: Record<string, number> = {};
    for (const text of await Promise.all(this.masters().map((master) => master.info('commandstats')))) {
      for (const [, name, calls] of text.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)) {
        counts[name!] = (counts[name!] ?? 0) + Number(calls);
      }
    }
    return counts;
  }

  close(): void {
    this.#closed = true;
    this.client.disconnect();
  }
}

function createClient(connection: PlainConnection, options: RedisOptions & ClusterOptions): Redis | Cluster {
  const security = securityOf(connection);
  if (connection.mode === 'cluster') {
    return new Cluster(connection.nodes, {
      // The address as it is: a certificate for 127.0.0.1 would not match a resolved name.
      dnsLookup: (address, callback) => callback(null, address),
      lazyConnect: true,
      ...options,
      redisOptions: { ...security, ...options.redisOptions },
    });
  }
  if (connection.mode === 'standalone') {
    return new Redis({ host: connection.host, port: connection.port, lazyConnect: true, ...security, ...options });
  }
  const { username, password, tls } = connection.sentinel ?? {};
  return new Redis({
    sentinels: connection.sentinels,
    name: connection.name,
    lazyConnect: true,
    failoverDetector: true,
    ...(username && { sentinelUsername: username }),
    ...(password && { sentinelPassword: password }),
    ...(tls && { sentinelTLS: tls, enableTLSForSentinelMode: true }),
    ...security,
    ...options,
  });
}

function securityOf({ username, password, tls }: PlainSecurity): RedisOptions {
  return { ...(username && { username }), ...(password && { password }), ...(tls && { tls }) };
}
