import { Redis, type ClusterOptions, type RedisOptions } from 'ioredis';
import { SentinelSocketConnector, SocketConnector } from './connectors.js';
import type { HostPort } from './connection-url.js';
import type { ResolvedConnectionOptions, Topology } from './connection.schema.js';
import { ReadyNodesCluster } from './ready-nodes-cluster.js';
import type { RedisClient } from './redis-connection.js';
import { Secret } from './secret.js';

/** What a socket is for; each role has its own profile. */
export type ConnectionRole = 'command' | 'blocking' | 'subscriber' | 'tracking';

export interface ClientRequest {
  readonly options: ResolvedConnectionOptions;
  readonly role: ConnectionRole;
  /** Name of the socket in `CLIENT LIST`. */
  readonly socketName: string;
  /** Node of a Cluster to talk to alone, asked before each attempt; without it a Cluster client finds them all. */
  readonly node?: () => HostPort;
}

/** Milliseconds before each attempt to connect anew. */
export type ReconnectDelay = (attempt: number) => number;

const MAX_RECONNECT_DELAY = 1000;
const MAX_REFUSED_DELAY = 5000;
/** One bad state is answered by one reconnection a second, not by a storm of them. */
const RECONNECT_ON_ERROR_INTERVAL = 1000;
const RECONNECT_ON_ERROR = /^(READONLY|MASTERDOWN|NOAUTH|UNBLOCKED force)/;
/** What a listening socket's greeting may take at least, milliseconds. */
const LONGEST_GREETING = 2000;
/** Longest time that a blocking read may ask Redis to wait, milliseconds. */
export const MAX_BLOCK = 5000;

/** Creates a client that is not connected yet, without its password where a function gives that. */
export function createClient(
  { options, role, socketName, node }: ClientRequest,
  delay: ReconnectDelay = reconnectDelay,
): RedisClient {
  const common = redisOptions(options, role, socketName, delay);
  const { topology } = options;
  if (node !== undefined) return new Redis({ ...common, ...node() });
  switch (topology.mode) {
    case 'standalone':
      return new Redis({ ...common, host: topology.host, port: topology.port, db: topology.db });
    case 'sentinel':
      return new Redis({ ...common, ...sentinelOptions(options, topology, role) });
    case 'cluster':
      return new ReadyNodesCluster(topology.nodes, clusterOptions(options, topology, common, delay));
  }
}

function redisOptions(
  { topology, connectTimeout, username, password, tls, ioredis }: ResolvedConnectionOptions,
  role: ConnectionRole,
  socketName: string,
  delay: ReconnectDelay,
): RedisOptions {
  return {
    keepAlive: 10_000,
    ...(ioredis as RedisOptions | undefined),
    Connector: SocketConnector,
    lazyConnect: true,
    connectionName: socketName,
    connectTimeout,
    // Nothing is queued in the client and nothing is re-sent by it: the gate alone decides about repetitions.
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    autoResubscribe: false,
    enableAutoPipelining: false,
    // ioredis drops the `invalidate` pushes of RESP3.
    ...(role === 'tracking' ? { protocol: 2 } : {}),
    disconnectTimeout: 500,
    maxLoadingRetryTime: 500,
    retryStrategy: delay,
    reconnectOnError: reconnectOnError(),
    ...userOf(username, password, role === 'tracking' || topology.mode === 'cluster'),
    // A password function is asked by whoever connects the client.
    ...(password instanceof Secret ? { password: password.reveal() } : {}),
    ...(tls === undefined ? {} : { tls: tls.reveal() }),
  };
}

/**
 * Where ioredis speaks RESP2 (tracking, and asking a Cluster for its slots) it names no user with a password alone, and prints to the
 * console when the server asks for none. By its name the default user takes any, as in RESP3, and the boot check tells of it.
 */
function userOf(username: string | undefined, password: unknown, speaksResp2: boolean): Pick<RedisOptions, 'username'> {
  if (username !== undefined) return { username };
  return speaksResp2 && password !== undefined ? { username: 'default' } : {};
}

/**
 * Milliseconds after which a socket that owes a reply is replaced; the deadline of a call is the gate's. Sockets that only
 * listen owe those of their greeting, which would hang for ever behind a partition, and of what they ask for a sign of life.
 */
export function silenceLimit(
  role: ConnectionRole,
  { commandTimeout, connectTimeout }: Pick<ResolvedConnectionOptions, 'commandTimeout' | 'connectTimeout'>,
): number {
  if (role === 'subscriber' || role === 'tracking') return Math.max(connectTimeout, LONGEST_GREETING);
  return role === 'blocking' ? MAX_BLOCK + 3 * commandTimeout : 3 * commandTimeout;
}

/** Exponential from 50 ms, at most 1 s, with jitter so that a fleet does not come back in step. */
export function reconnectDelay(attempt: number): number {
  return Math.min(50 * 2 ** (attempt - 1), MAX_RECONNECT_DELAY) + Math.floor(Math.random() * 100);
}

/** For a server that refuses the credentials: somebody has to mend that, and each attempt is a line in its log. */
export function refusedDelay(attempt: number): number {
  return Math.min(1000 * 2 ** (attempt - 1), MAX_REFUSED_DELAY) + Math.floor(Math.random() * 500);
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
  options: ResolvedConnectionOptions,
  { sentinels, name, db, readFrom }: Extract<Topology, { mode: 'sentinel' }>,
  role: ConnectionRole,
): RedisOptions {
  const auth = sentinelAuth(options);
  const { password, tls } = auth;
  const { username } = userOf(auth.username, password, role === 'tracking');
  return {
    sentinels: sentinels.map((address) => ({ ...address })),
    name,
    db,
    role: readFrom === 'replica' ? 'slave' : 'master',
    Connector: SentinelSocketConnector,
    // Without it the client went on writing to a demoted master for 11 s.
    failoverDetector: true,
    sentinelCommandTimeout: 500,
    sentinelRetryStrategy: reconnectDelay,
    sentinelReconnectStrategy: () => 2000,
    ...(username === undefined ? {} : { sentinelUsername: username }),
    ...(password === undefined ? {} : { sentinelPassword: password }),
    ...(options.tls === undefined ? {} : { enableTLSForSentinelMode: true }),
    ...(tls === undefined ? {} : { sentinelTLS: tls }),
  };
}

/** How a Sentinel is spoken to: with credentials of its own, and the servers' TLS unless it has its own. */
export function sentinelAuth({ sentinel, tls }: ResolvedConnectionOptions): RedisOptions {
  const sentinelTls = sentinel.tls === false ? undefined : (sentinel.tls ?? tls);
  return {
    ...(sentinel.username === undefined ? {} : { username: sentinel.username }),
    ...(sentinel.password === undefined ? {} : { password: sentinel.password.reveal() }),
    ...(sentinelTls === undefined ? {} : { tls: sentinelTls.reveal() }),
  };
}

function clusterOptions(
  { ioredis }: ResolvedConnectionOptions,
  { readFrom }: Extract<Topology, { mode: 'cluster' }>,
  redisOptions: RedisOptions,
  clusterRetryStrategy: ReconnectDelay,
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
    clusterRetryStrategy,
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
