import { Redis, type RedisOptions } from 'ioredis';
import { within } from '../core/timer.js';
import { SocketConnector } from './connectors.js';

/**
 * Asks one Sentinel on a socket of its own; `undefined` when it does not answer.
 *
 * @param timeout milliseconds for the connection, and for each command
 */
export async function askSentinel<T>(
  options: RedisOptions,
  ask: (sentinel: Redis) => Promise<T>,
  timeout: number,
): Promise<T | undefined> {
  const client = new Redis({
    ...options,
    Connector: SocketConnector,
    lazyConnect: true,
    retryStrategy: () => null,
    enableReadyCheck: false,
    maxRetriesPerRequest: 0,
    connectTimeout: timeout,
    commandTimeout: timeout,
  });
  client.on('error', () => undefined);
  try {
    return await within(2 * timeout, ask(client), undefined);
  } catch {
    return undefined;
  } finally {
    client.disconnect();
  }
}
