import type { ConnectionStats, RedisClient } from '../connection/index.js';
import type { ApplicationFacts } from './snapshot.js';

/** The options of raw clients, as far as CON007 judges them. */
export function clientFacts(clients: Readonly<Record<string, RedisClient>>): ApplicationFacts['clients'] {
  return Object.entries(clients).map(([name, client]) => {
    const options = client.options as Record<string, unknown>;
    // A Cluster client has those of its sockets one level down.
    const socket = { ...options, ...(options.redisOptions as Record<string, unknown> | undefined) };
    return {
      name,
      offlineQueue: options.enableOfflineQueue !== false,
      deadline: Number(socket.commandTimeout ?? 0) > 0 || Number(socket.socketTimeout ?? 0) > 0,
      retries:
        socket.maxRetriesPerRequest !== 0 ||
        (options.retryDelayOnFailover !== undefined && options.retryDelayOnFailover !== 0),
      sentinelWithoutDetector: Array.isArray(options.sentinels) && options.failoverDetector !== true,
    };
  });
}

/** The state of the application's connection, as far as CON009 judges it. */
export function connectionFacts(
  name: string,
  { pool, breaker }: ConnectionStats,
): ApplicationFacts['connections'][number] {
  return { name, waiting: pool.waiting, inFlight: pool.inFlight, openNodes: breaker.openNodes };
}
