import type { ApplicationConnection, ResolvedConnectionOptions } from '../connection/index.js';
import { ConnectionSource } from '../nest/connection-source.js';
import { globExpression } from './redis/arguments.js';
import { MemoryConnection } from './memory-connection.js';
import { MemoryRedis } from './redis/index.js';

/**
 * The Redis in memory of an application under test, which all of its connections lead to. Time is `Date.now()`: the fake timers of
 * a test runner move it.
 *
 * @example
 * ```ts
 * const redis = app.get(InMemoryRedis);
 * redis.goDown();
 * await expect(orders.place(order)).rejects.toThrow();
 * redis.comeBack();
 * ```
 */
export class InMemoryRedis extends ConnectionSource {
  readonly #redis = new MemoryRedis();
  readonly #connections = new Set<MemoryConnection>();

  /** Every call fails from now on, as it does while a server is away. */
  goDown(): void {
    for (const connection of this.#connections) connection.isUp = false;
  }

  /** Calls succeed again. What was stored is there. */
  comeBack(): void {
    for (const connection of this.#connections) connection.isUp = true;
  }

  /** Forgets everything, for the next test. */
  flush(): void {
    this.#redis.call('FLUSHALL', []);
  }

  /** The keys that there are. @param glob as KEYS takes it; default all */
  keys(glob = '*'): string[] {
    const expression = globExpression(glob);
    return this.#redis.keyspace.keys().filter((key) => expression.test(key));
  }

  /** @internal */
  override connect(name: string, _: string, { purpose }: ResolvedConnectionOptions): ApplicationConnection {
    const connection = new MemoryConnection(name, this.#redis, purpose);
    this.#connections.add(connection);
    return connection;
  }
}
