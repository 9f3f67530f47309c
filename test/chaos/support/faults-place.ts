import { RedisAdmin } from '../../support/redis-admin.js';
import {
  startOwn,
  startProxies,
  uniqueNamespace,
  type Mode,
  type PlainConnection,
  type Topology,
  type TopologyOptions,
} from '../../support/topologies.js';

import { KEYS, listKey, streamKey, tokenListKey } from './faults-keys.js';

/** Silence that is longer than any fault here: failovers have a suite of their own. Milliseconds. */
const NO_FAILOVER = 60_000;

/** Servers of one's own with a user for the application and a fault proxy in front of each. */
export interface Place {
  readonly mode: Mode;
  readonly own: Topology;
  readonly proxies: Awaited<ReturnType<typeof startProxies>>;
  readonly namespace: string;
  /** What the application connects with: through the proxies, as the user `app`. */
  readonly connection: PlainConnection & { ioredis?: object };
  /** Runs a command on every master, as the user `admin`, past the proxies, on a socket that was there before the fault. */
  onMasters(...args: [string, ...(string | number)[]]): Promise<unknown[]>;
  /** Ends the application's connections, from the side of the servers. */
  cutApplication(): Promise<void>;
  /** What one run of the load has written and published, as it stands in Redis. */
  found(run: number): Promise<{ written: string[]; published: string[] }>;
  /** Messages that were read and not acknowledged. */
  unhandled(): Promise<number>;
  stop(): Promise<void>;
}

export async function startPlace(mode: Mode, options: TopologyOptions = {}): Promise<Place> {
  const own = await startOwn(mode, { acl: true, downAfter: NO_FAILOVER, nodeTimeout: NO_FAILOVER, ...options });
  const proxies = await startProxies(own.nodes);
  const user = own.users?.admin;
  const admin = await RedisAdmin.connect({ ...own.connection, ...user });
  const masters = await Promise.all(
    (await own.masters()).map(({ host, port }) => RedisAdmin.connect({ mode: 'standalone', host, port, ...user })),
  );
  const namespace = uniqueNamespace();
  const onMasters: Place['onMasters'] = (...args) => Promise.all(masters.map(({ client }) => client.call(...args)));
  return {
    mode,
    own,
    proxies,
    namespace,
    connection: throughProxies(own.connection, proxies),
    onMasters,
    cutApplication: async () =>
      void (await onMasters('CLIENT', 'KILL', 'USER', own.users?.app.username ?? 'default', 'SKIPME', 'YES')),
    found: async (run) => ({
      written: await listed(
        admin,
        range(KEYS).flatMap((n) => [listKey(namespace, run, n), tokenListKey(namespace, run, n)]),
      ),
      published: (await admin.client.xrange(streamKey(namespace), '-', '+'))
        .map(([, fields]) => fieldOf(fields, 'key').split('/'))
        .flatMap(([of, id]) => (of === String(run) ? [id!] : [])),
    }),
    unhandled: async () => Number((await admin.client.xpending(streamKey(namespace), 'g'))[0]),
    stop: async () => {
      for (const each of [admin, ...masters]) each.close();
      await proxies.close();
      await own.stop();
    },
  };
}

function throughProxies(connection: PlainConnection, { proxies, natMap }: Place['proxies']): Place['connection'] {
  if (connection.mode === 'standalone') return { ...connection, port: proxies[0]!.port };
  if (connection.mode === 'sentinel') return { ...connection, ioredis: { natMap } };
  return { ...connection, nodes: proxies.map(({ host, port }) => ({ host, port })), ioredis: { natMap } };
}

async function listed({ client }: RedisAdmin, keys: readonly string[]): Promise<string[]> {
  return (await Promise.all(keys.map((key) => client.lrange(key, 0, -1)))).flat();
}

function range(n: number): number[] {
  return Array.from({ length: n }, (_, index) => index);
}

function fieldOf(fields: readonly string[], name: string): string {
  return fields[fields.indexOf(name) + 1]!;
}
