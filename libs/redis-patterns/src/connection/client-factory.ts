import { Cluster, Redis, type ClusterOptions, type RedisOptions } from 'ioredis';
import type { ResolvedConnectionOptions, Topology } from './connection.schema.js';
import type { RedisClient } from './redis-connection.js';
import { Secret } from './secret.js';

/** What a socket is for; each role has its own profile. */
export type ConnectionRole = 'command' | 'blocking';

export interface ClientRequest {
  readonly options: ResolvedConnectionOptions;
  readonly role: ConnectionRole;
  /** Name of the socket in `CLIENT LIST`. */
  readonly socketName: string;
}

const MAX_RECONNECT_DELAY = 1000;
/** One bad state is answered by one reconnection a second, not by a storm of them. */
const RECONNECT_ON_ERROR_INTERVAL = 1000;
const RECONNECT_ON_ERROR = /^(READONLY|MASTERDOWN|NOAUTH|UNBLOCKED force)/;
/** Longest time that a blocking read may ask Redis to wait, milliseconds. */
export const MAX_BLOCK = 5000;

/** Creates a client that is not connected yet, without its password where a function gives that. */
export function createClient({ options, role, socketName }: ClientRequest): RedisClient {
  const common = redisOptions(options, role, socketName);
  const { topology } = options;
  switch (topology.mode) {
    case 'standalone':
      return new Redis({ ...common, host: topology.host, port: topology.port, db: topology.db });
    case 'sentinel':
      return new Redis({ ...common, ...sentinelOptions(options, topology) });
    case 'cluster':
      return new Cluster([...topology.nodes], clusterOptions(options, topology, common));
  }
}

function redisOptions(
  { commandTimeout, connectTimeout, username, password, tls, ioredis }: ResolvedConnectionOptions,
  role: ConnectionRole,
  socketName: string,
): RedisOptions {
  const stallTimeout = 3 * commandTimeout;
  return {
    keepAlive: 10_000,
    ...(ioredis as RedisOptions | undefined),
    lazyConnect: true,
    connectionName: socketName,
    connectTimeout,
    // Nothing is queued in the client and nothing is re-sent by it: the gate alone decides about repetitions.
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    autoResubscribe: false,
    enableAutoPipelining: false,
    // A socket that owes a reply for this long is replaced; the deadline of a call is the gate's.
    socketTimeout: role === 'blocking' ? MAX_BLOCK + stallTimeout : stallTimeout,
    disconnectTimeout: 500,
    maxLoadingRetryTime: 500,
    retryStrategy: reconnectDelay,
    reconnectOnError: reconnectOnError(),
    ...(username === undefined ? {} : { username }),
    // A password function is asked by whoever connects the client.
    ...(password instanceof Secret ? { password: password.reveal() } : {}),
    ...(tls === undefined ? {} : { tls }),
  };
}

/** Exponential from 50 ms, at most 1 s, with jitter so that a fleet does not come back in step. */
export function reconnectDelay(attempt: number): number {
  return Math.min(50 * 2 ** (attempt - 1), MAX_RECONNECT_DELAY) + Math.floor(Math.random() * 100);
}

/** 1 = reconnect without re-sending the command that was refused. */
function reconnectOnError(): (error: Error) => 1 | false {
  let last = Number.NEGATIVE_INFINITY;
  return (error) => {
    const now = performance.now();
    if (!RECONNECT_ON_ERROR.test(error.message) || now - last < RECONNECT_ON_ERROR_INTERVAL) return false;
    last = now;
    return 1;
  };
}

function sentinelOptions(
  { sentinel, tls }: ResolvedConnectionOptions,
  { sentinels, name, db, readFrom }: Extract<Topology, { mode: 'sentinel' }>,
): RedisOptions {
  const sentinelTls = sentinel.tls ?? tls;
  return {
    sentinels: sentinels.map((address) => ({ ...address })),
    name,
    db,
    role: readFrom === 'replica' ? 'slave' : 'master',
    // Without it the client went on writing to a demoted master for 11 s.
    failoverDetector: true,
    sentinelCommandTimeout: 500,
    sentinelRetryStrategy: reconnectDelay,
    sentinelReconnectStrategy: () => 2000,
    ...(sentinel.username === undefined ? {} : { sentinelUsername: sentinel.username }),
    ...(sentinel.password === undefined ? {} : { sentinelPassword: sentinel.password.reveal() }),
    ...(tls === undefined ? {} : { enableTLSForSentinelMode: true }),
    ...(sentinelTls === undefined ? {} : { sentinelTLS: sentinelTls }),
  };
}

function clusterOptions(
  { ioredis }: ResolvedConnectionOptions,
  { readFrom }: Extract<Topology, { mode: 'cluster' }>,
  redisOptions: RedisOptions,
): ClusterOptions {
  const { natMap, dnsLookup } = (ioredis ?? {}) as ClusterOptions;
  const common = { ...redisOptions };
  // The Cluster client decides these for its nodes itself.
  delete common.retryStrategy;
  delete common.enableOfflineQueue;
  return {
    redisOptions: common,
    lazyConnect: true,
    enableOfflineQueue: false,
    scaleReads: readFrom === 'replica' ? 'slave' : readFrom,
    clusterRetryStrategy: reconnectDelay,
    // Any delay above 0 re-sends what was in flight on a lost node: an INCR ran twice.
    retryDelayOnFailover: 0,
    retryDelayOnClusterDown: 0,
    retryDelayOnTryAgain: 50,
    maxRedirections: 4,
    slotsRefreshTimeout: 1000,
    slotsRefreshInterval: 30_000,
    ...(natMap === undefined ? {} : { natMap }),
    ...(dnsLookup === undefined ? {} : { dnsLookup }),
  };
}
