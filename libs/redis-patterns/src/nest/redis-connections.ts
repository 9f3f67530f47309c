import type { ConnectionStats, BlockingLease, RedisClient } from '../connection/index.js';
import type { PatternsApp } from './patterns-app.js';
import { DEFAULT_CONNECTION } from './redis-patterns.options.js';

/**
 * The application's connections, for what no pattern covers.
 *
 * @example
 * ```ts
 * constructor(private readonly redis: RedisConnections) {}
 * ping() { return this.redis.get().ping(); }
 * ```
 */
export class RedisConnections {
  constructor(private readonly app: PatternsApp) {}

  /**
   * The raw ioredis client. It has this library's profile (nothing is queued or re-sent) but not its deadlines; for a
   * blocking command use {@link withBlocking}, else it holds up every other call.
   *
   * @param name default `'default'`
   * @throws InvalidOptionsError when there is no connection of that name
   */
  get(name: string = DEFAULT_CONNECTION): RedisClient {
    return this.app.connection(name).client;
  }

  /**
   * Lends a socket of its own for the time of `fn`.
   *
   * @throws RedisUnavailableError (`ERR_REDIS_OVERLOADED`) when none is free within `pool.acquireTimeout`
   */
  withBlocking<T>(
    name: string,
    fn: (client: RedisClient, lease: BlockingLease) => Promise<T>,
    options?: { signal?: AbortSignal },
  ): Promise<T> {
    return this.app.connection(name).withBlocking(async (lease) => {
      await lease.ready(options?.signal);
      return fn(lease.client, lease);
    }, options);
  }

  /** State and load of a connection. */
  stats(name: string = DEFAULT_CONNECTION): ConnectionStats {
    return this.app.connection(name).stats();
  }

  /** Closes every connection, within `closeTimeout`. Shutdown hooks do it by themselves; idempotent. */
  close(): Promise<void> {
    return this.app.close();
  }
}
