import { Redis, type RedisOptions } from 'ioredis';
import { SocketConnector } from './connectors.js';

/** Longest time for the answer of one Sentinel, milliseconds. */
const TIMEOUT = 500;

/** Asks one Sentinel on a socket of its own; `undefined` when it does not answer. */
export async function askSentinel<T>(
  options: RedisOptions,
  ask: (sentinel: Redis) => Promise<T>,
): Promise<T | undefined> {
  const client = new Redis({
    ...options,
    Connector: SocketConnector,
    lazyConnect: true,
    retryStrategy: () => null,
    enableReadyCheck: false,
    maxRetriesPerRequest: 0,
    connectTimeout: TIMEOUT,
    commandTimeout: TIMEOUT,
  });
  client.on('error', () => undefined);
  try {
    return await ask(client);
  } catch {
    return undefined;
  } finally {
    client.disconnect();
  }
}
