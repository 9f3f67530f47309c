import type { Cluster, Redis } from 'ioredis';
import { slotOf } from '../keys/index.js';
import { addressOf } from './connection-url.js';
import type { Endpoint, SocketEndpoint } from './endpoint.js';
import { mapAddress } from './ready-nodes-cluster.js';
import type { Refusals } from './refusals.js';

/** Shortest time between two refreshes of the slot map that calls ask for, milliseconds. */
const REFRESH_INTERVAL = 200;
/** Longest time that a node which holds no slot any more is kept for the calls on it, milliseconds. */
const LONGEST_GOODBYE = 500;
const CONNECTING: ReadonlySet<string> = new Set(['wait', 'connecting', 'connect']);

/**
 * Knows each node of a Cluster client, which ioredis keeps to itself. To a node that is not ready ioredis answers
 * "Connection is closed.", as if the command had been lost on its way: whoever looks before sending can tell `not-sent`
 * from `unknown`. And a node that hangs must not slow the slots of the others.
 */
export class ClusterNodes {
  readonly #nodes = new Map<string, SocketEndpoint>();
  /** For commands without a key: ioredis chooses the node. */
  readonly #anyNode: Endpoint;
  #closing = false;
  #refreshTimer: NodeJS.Timeout | undefined;
  #lastRefresh = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly cluster: Cluster,
    /** Called for each new node, before it connects. */
    adopt: (node: Redis) => SocketEndpoint,
    /** Called when a node has become ready or is gone, or the slot map is fresh. */
    private readonly changed: (what: 'ready' | 'lost' | 'slots') => void,
    private readonly refusals: Refusals,
  ) {
    this.#anyNode = {
      client: cluster,
      readiness: 'ready',
      breaker: undefined,
      inFlight: 0,
      bufferedBytes: 0,
      cork() {},
      misrouted: () => this.refreshSoon(),
    };
    cluster.on('+node', (node: Redis) => {
      const endpoint = adopt(node);
      handleAsking(node);
      this.#letCallsEnd(endpoint);
      this.#nodes.set(addressOf(node.options), endpoint);
      node.on('ready', () => changed('ready'));
      // ioredis would connect at the first command, and refuse those that follow until that is done.
      if (node.status === 'wait') node.connect().catch(() => undefined);
    });
    cluster.on('-node', (node: Redis) => {
      const address = addressOf(node.options);
      const endpoint = this.#nodes.get(address);
      if (endpoint?.redis !== node) return;
      endpoint.breaker?.dispose();
      this.#nodes.delete(address);
      changed('lost');
    });
    cluster.on('refresh', () => changed('slots'));
    cluster.on('end', () => clearTimeout(this.#refreshTimer));
  }

  /** Whether no node is on its way to its first connection; a dead one is not waited for. */
  get settled(): boolean {
    for (const { redis } of this.#nodes.values()) if (CONNECTING.has(redis.status)) return false;
    return true;
  }

  get endpoints(): Iterable<SocketEndpoint> {
    return this.#nodes.values();
  }

  /** The master of the key. If it cannot be sent to, a refresh of the slot map is on its way. */
  endpointFor(key: string | undefined): Endpoint | undefined {
    if (this.cluster.status !== 'ready') return undefined;
    if (key === undefined) return this.#anyNode;
    const master = this.cluster.slots[slotOf(key)]?.[0];
    const endpoint =
      master === undefined ? undefined : (this.#nodes.get(master) ?? this.#nodes.get(mapAddress(this.cluster, master)));
    if (endpoint?.readiness !== 'ready') this.refreshSoon();
    return endpoint;
  }

  /** The client ends: nothing is waited for any more. */
  close(): void {
    this.#closing = true;
  }

  /**
   * ioredis drops a node as soon as it holds no slot, which after a failover on command is so for a moment, and the calls on
   * that socket with it. It is out of the pool by then, so those that are left only wait for their redirect.
   */
  #letCallsEnd(endpoint: SocketEndpoint): void {
    const { redis } = endpoint;
    const disconnect = redis.disconnect.bind(redis);
    redis.disconnect = (reconnect) => {
      if (reconnect || this.#closing || endpoint.inFlight === 0) return disconnect(reconnect);
      const began = performance.now();
      const timer = setInterval(() => {
        const patient = endpoint.inFlight > 0 && performance.now() - began < LONGEST_GOODBYE && !this.#closing;
        if (patient) return;
        clearInterval(timer);
        disconnect();
      }, 10);
    };
  }

  /** Asks for a fresh slot map, soon but not at once. */
  refreshSoon(): void {
    if (this.#refreshTimer !== undefined) return;
    const interval = Math.max(REFRESH_INTERVAL, this.refusals.pause);
    const delay = Math.max(0, this.#lastRefresh + interval - performance.now());
    this.#refreshTimer = setTimeout(() => {
      this.#refreshTimer = undefined;
      this.#lastRefresh = performance.now();
      if (this.cluster.status === 'ready') this.cluster.refreshSlotsCache(() => this.changed('slots'));
    }, delay);
    this.#refreshTimer.unref();
  }
}

/**
 * ioredis drops the promise of the ASKING that it sends before a redirected command: lost with its socket it would end
 * the process as an unhandled rejection. The command behind it fails by itself.
 */
function handleAsking(node: Redis): void {
  const asking = node.asking.bind(node) as (...args: unknown[]) => Promise<'OK'>;
  node.asking = (...args: unknown[]) => {
    const sent = asking(...args);
    sent.catch(() => undefined);
    return sent;
  };
}
