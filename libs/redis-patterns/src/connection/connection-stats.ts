import type { RedisConnection } from './redis-connection.js';

/** State and limits of a connection, for health answers and dashboards. */
export interface ConnectionStats {
  readonly mode: RedisConnection['mode'];
  /** ioredis' word for the state of the first command client; `'ready'` is the good one. */
  readonly status: string;
  readonly pool: {
    /** Clients for commands. */
    readonly size: number;
    /** Calls that owe a reply, also those that their callers have given up. */
    readonly inFlight: number;
    /** Blocking sockets that are lent. */
    readonly blocking: number;
    /** Calls that wait for a connection, and those that wait for a blocking socket. */
    readonly waiting: number;
  };
  /** `openNodes`: the servers that calls are kept from, as `host:port`. */
  readonly breaker: { readonly state: 'off' | 'closed' | 'open'; readonly openNodes: readonly string[] };
  /** As the server said when it was connected to last, in a Cluster the first master; a part that it hides is `undefined`. */
  readonly server: {
    readonly version: string | undefined;
    readonly role: string | undefined;
    readonly maxmemoryPolicy: string | undefined;
  };
}
