import type { Cluster, Redis } from 'ioredis';
import type { KeyBuilder } from '../keys/index.js';
import type { Telemetry } from '../telemetry/index.js';
import type { ConnectionStats } from './connection-stats.js';
import type { DirectServers } from './direct.js';
import type { ConnectionUser } from './eviction.js';
import type { ResolvedConnectionOptions } from './connection.schema.js';
import type { RoleState } from './role-state.js';

/** A raw ioredis client of any topology. */
export type RedisClient = Redis | Cluster;

/**
 * How safe it is to run an operation a second time, when it is not known whether the first time happened:
 * `read` and `idempotent`: harmless; `token`: it carries a token by which it finds its own first run; `once`: never.
 */
export type Effect = 'read' | 'idempotent' | 'token' | 'once';

/** One call to Redis, which replies with `T`; it gives `R`. */
export interface Operation<T, R = T> {
  /** Name for errors and telemetry, such as `lock.acquire`; never a key. */
  readonly name: string;
  readonly effect: Effect;
  /** Sends the command, pipeline or script. Called again for a repetition. */
  send(client: RedisClient): Promise<T>;
  /** One of its keys: in a Cluster it tells which node must be ready. */
  readonly key?: string | undefined;
  /** Milliseconds until the call rejects. Default: the connection's `commandTimeout`. */
  readonly deadline?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /**
   * Wait, within the deadline, for a connection that is not ready. Default false: `not-sent` at once, but for the repetition of what was sent
   * and lost its reply.
   */
  readonly wait?: boolean | undefined;
  /** Called with a success that came after the call had been given up: the place to undo it. */
  readonly onLate?: ((reply: T) => void) | undefined;
  /** What the call gives for a reply, by default the reply. Spares hot paths the promise and the closures of a `then`. */
  onReply?(reply: T): R | Promise<R>;
  /** The same for a failure, by default to reject with it. */
  onFailure?(error: Error): R | Promise<R>;
}

/** A socket of its own, for commands that block it. */
export interface BlockingLease {
  readonly client: RedisClient;
  /** Counts the times that a socket became ready: a change means that replies may have been lost. */
  readonly epoch: number;
  /** Resolves when the socket is ready; with a key: in a Cluster the one to the master of the key. */
  ready(signal?: AbortSignal, key?: string): Promise<void>;
  /** Drops the socket (what it waits for rejects) and connects a new one. */
  reset(): void;
}

/** Why a subscription heard nothing for a while. */
export interface SubscriptionLoss {
  readonly reason: string;
  /** The slot of a sharded channel went to another node; else the socket was lost. */
  readonly moved: boolean;
  /** Until then nothing was missed: time in ms since the epoch at which the server had been asked for its last sign of life. */
  readonly from: number;
}

/** What a subscription is told. Nothing of it may throw. */
export interface SubscriptionHandler {
  message(payload: Buffer, channel: string): void;
  /** Messages may have been missed. Comes before any message of the time after. */
  gap(loss: SubscriptionLoss): void;
  /** The socket, or the slot, was lost: no messages come until {@link gap}. */
  lost?(loss: SubscriptionLoss): void;
}

export interface Subscription {
  /** Resolves when the server has confirmed it for the first time; from then on messages come. */
  confirmed(signal?: AbortSignal): Promise<void>;
  /** Ends it. Idempotent. */
  close(): void;
}

/** `'shard'`: a sharded channel, which in a Cluster only the nodes of its slot know. */
export type ChannelKind = 'channel' | 'pattern' | 'shard';

/** What is told to those who keep copies of keys in this process. Nothing of it may throw. */
export interface TrackingListener {
  /** From now on every change of a key with the prefix is told. */
  armed(): void;
  /** Changes may go unnoticed from now on: forget all copies. */
  lost(reason: string): void;
  /** These keys changed, expired or were evicted; `null`: all of them (FLUSHALL, FLUSHDB). */
  invalidated(keys: readonly Buffer[] | null): void;
}

export interface TrackingFeed {
  readonly armed: boolean;
  /** Ends it. Idempotent. */
  close(): void;
}

/** The one way to Redis: engines call {@link RedisConnection.run}, never ioredis. */
export interface RedisConnection {
  readonly name: string;
  readonly mode: 'standalone' | 'sentinel' | 'cluster';
  /** Milliseconds; the deadline of operations that bring none. */
  readonly commandTimeout: number;
  /** Whether reads may go to replicas (`readFrom`), and so be behind what was written. */
  readonly readsReplicas: boolean;
  /** How many {@link withBlocking} may run at the same time (`pool.maxBlocking`). */
  readonly maxBlocking: number;
  /**
   * Runs an operation and settles exactly once, at its deadline at the latest.
   *
   * @throws RedisUnavailableError when Redis does not serve; its `outcome` says whether the operation may have run
   * @throws RedisCommandError when Redis calls the command itself wrong
   */
  run<T, R = T>(operation: Operation<T, R>): Promise<R>;
  /**
   * Lends a socket of its own for the time of `fn`, at most `pool.maxBlocking` at a time.
   *
   * @throws RedisUnavailableError (`ERR_REDIS_OVERLOADED`) when none is free within `pool.acquireTimeout`
   */
  withBlocking<T>(fn: (lease: BlockingLease) => Promise<T>, options?: { signal?: AbortSignal }): Promise<T>;
  /**
   * Listens to a channel or pattern from now on, on the connection's one subscriber (to a sharded channel on a further one,
   * in a Cluster on one for each master). It heals by itself after any loss of the socket, follows the slot of a sharded
   * channel, and says that it did: {@link SubscriptionHandler.gap}.
   */
  subscribe(kind: ChannelKind, name: string, handler: SubscriptionHandler): Subscription;
  /** Tells changes of the keys that begin with `prefix`, for copies of them in this process. */
  track(prefix: string, listener: TrackingListener): TrackingFeed;
  /** The masters, for work that goes through all keys: one client, in a Cluster one for each master. */
  masters(): readonly Redis[];
  /** Sockets of their own to the masters, for who looks at the servers; named `<namespace>:<connection>:<role>:0`. */
  direct(role: string): DirectServers;
  /** State and load, from memory. */
  stats(): ConnectionStats;
}

/** A connection as the application has it, which begins and ends it. */
export interface ApplicationConnection extends RedisConnection {
  /** The raw client. */
  readonly client: RedisClient;
  /** Begins to connect; does not wait. Idempotent. */
  open(): void;
  /** A pattern keeps keys here. */
  usedBy(user: ConnectionUser): void;
  /**
   * Waits for the server as `startup` says.
   *
   * @throws RedisConnectError when the boot must not go on
   */
  settleBoot(): Promise<void>;
  readonly purpose: ResolvedConnectionOptions['purpose'];
  /** The sockets by what they are for. */
  roles(): RoleState[];
  /** Refuses new calls, lets those in flight end, and ends every socket. Idempotent. */
  close(): Promise<void>;
}

/** What every engine is built on. */
export interface EngineContext {
  readonly connection: RedisConnection;
  readonly keys: KeyBuilder;
  readonly telemetry: Telemetry;
}
