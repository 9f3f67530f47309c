import type { RedisOptions } from 'ioredis';
import type { ConnectionOptions as TlsOptions } from 'node:tls';
import type { Duration } from '../core/duration.js';

/** Options that every topology has. */
export interface CommonConnectionOptions {
  /** ACL user. Default: Redis' `default` user. */
  username?: string;
  /** Password, or a function that gives the current one: it is asked again before each reconnection. */
  password?: string | (() => string | Promise<string>);
  /** TLS: `true` verifies against the system's authorities; an object is passed to `node:tls`. Default: as the URL says. */
  tls?: boolean | TlsOptions;
  /** Allows `tls.rejectUnauthorized: false`. Default false. */
  allowInsecureTls?: boolean;
  /** Credentials and TLS of the Sentinels themselves, when they differ from the servers'. */
  sentinel?: { username?: string; password?: string; tls?: boolean | TlsOptions };
  /** What is kept here: decides how strictly the server's eviction policy is judged. Default `'any'`. */
  purpose?: 'cache' | 'durable' | 'any';
  /** Limits of this connection. */
  pool?: PoolOptions;
  /** Longest time for one TCP/TLS connect. Default `'2s'`. */
  connectTimeout?: Duration;
  /** Deadline of a call that brings none of its own. Default `'500ms'`. */
  commandTimeout?: Duration;
  /**
   * What the boot does about a Redis that is not there: `'wait'` (default) waits up to 5 s, warns and goes on;
   * `'fail-fast'` fails the boot after 5 s; `'background'` does not wait. A wrong password, certificate or topology fails
   * `'wait'` and `'fail-fast'` at once.
   */
  startup?: 'wait' | 'background' | 'fail-fast';
  /** Longest time that closing takes. Default `'2s'`. */
  closeTimeout?: Duration;
  /** Interval of the subscriber's own PING. Default `'5s'`. */
  pingInterval?: Duration;
  /** What an unfit `maxmemory-policy` does at boot. Default `'fail'` for purpose `'durable'`, else `'warn'`. */
  evictionCheck?: 'warn' | 'fail' | 'off';
  /** Stops calling a Redis that does not answer. `false` switches it off. */
  breaker?: BreakerOptions | false;
  /** More ioredis options, passed through. What this layer owns (queues, retries, timeouts, `keyPrefix`) is refused. */
  ioredis?: Omit<RedisOptions, OwnedIoredisOption> & { dnsLookup?: unknown; natMap?: unknown };
}

export interface PoolOptions {
  /** Command sockets. More than one gives no throughput, it only keeps a big reply from delaying others. Default 1. */
  size?: number;
  /** Blocking sockets (one for each stream reader). Default 16. */
  maxBlocking?: number;
  /** Longest wait for a blocking socket. Default `'2s'`. */
  acquireTimeout?: Duration;
  /** Calls in flight or waiting, beyond which a call is refused at once. Default 1000. */
  maxInFlight?: number;
  /** Bytes waiting in one socket, beyond which a call is refused at once. Default 8 MiB. */
  maxBufferedBytes?: number;
}

export interface BreakerOptions {
  /** Consecutive calls without an answer that open the breaker. Default 5. */
  failures?: number;
  /** Time between the layer's own probes while it is open. Default `'1s'`. */
  openFor?: Duration;
}

export interface StandaloneConnectionOptions {
  mode?: 'standalone';
  /** `redis://user:password@host:6379/0`; any URL form, also `redis+sentinel://…` and `redis+cluster://…`. */
  url?: string;
  /** Default `'127.0.0.1'`. */
  host?: string;
  /** Default 6379. */
  port?: number;
  /** Database index. Default 0. */
  db?: number;
}

export interface SentinelConnectionOptions {
  mode: 'sentinel';
  sentinels: { host: string; port: number }[];
  /** Name of the monitored master. */
  name: string;
  /** Default `'master'`. */
  readFrom?: 'master' | 'replica';
  db?: number;
}

export interface ClusterConnectionOptions {
  mode: 'cluster';
  /** Some nodes of the cluster, as `'host:port'` or `{ host, port }`, or an address in front of them; all nodes are discovered. One is enough. */
  nodes: (string | { host: string; port: number })[];
  /** Default `'master'`. */
  readFrom?: 'master' | 'replica' | 'all';
}

/** How to reach one Redis deployment. */
export type ConnectionOptions = CommonConnectionOptions &
  (StandaloneConnectionOptions | SentinelConnectionOptions | ClusterConnectionOptions);

/** ioredis options that the connection layer owns, each with the option of ours that replaces it. */
export const OWNED_IOREDIS_OPTIONS = {
  keyPrefix: "'namespace'",
  enableOfflineQueue: "nothing: calls never queue in the client ('startup' decides about the boot)",
  maxRetriesPerRequest: "nothing: only what is safe is repeated, within 'commandTimeout'",
  autoResendUnfulfilledCommands: 'nothing: an unanswered command is never re-sent',
  autoResubscribe: 'nothing: the subscriber does it',
  retryStrategy: 'nothing: reconnection backs off by itself',
  reconnectOnError: 'nothing: failovers are followed by themselves',
  commandTimeout: "'commandTimeout'",
  socketTimeout: "'commandTimeout'",
  blockingTimeout: "'commandTimeout'",
  connectTimeout: "'connectTimeout'",
  lazyConnect: "'startup'",
  enableReadyCheck: 'nothing: it stays on',
  enableAutoPipelining: 'nothing: the patterns batch what may be batched',
  connectionName: 'nothing: sockets are named <namespace>:<connection>:<role>:<n>',
  host: "'host'",
  port: "'port'",
  db: "'db'",
  username: "'username'",
  password: "'password'",
  tls: "'tls'",
  sentinels: "'sentinels'",
  name: "'name'",
  sentinelUsername: "'sentinel.username'",
  sentinelPassword: "'sentinel.password'",
  sentinelTLS: "'sentinel.tls'",
  failoverDetector: 'nothing: it stays on',
  role: "'readFrom'",
} as const;
export type OwnedIoredisOption = keyof typeof OWNED_IOREDIS_OPTIONS;
