import type { Cluster, Redis } from 'ioredis';
import { slotOf } from '../keys/index.js';

/** Shortest time between two refreshes of the slot map that calls ask for, milliseconds. */
const REFRESH_INTERVAL = 200;
const CONNECTING: ReadonlySet<string> = new Set(['wait', 'connecting', 'connect']);

/**
 * Knows the state of each node of a Cluster client, which ioredis keeps to itself. To a node that is not ready ioredis
 * answers "Connection is closed.", as if the command had been lost on its way: whoever looks before sending can tell
 * `not-sent` from `unknown`.
 */
export class ClusterNodes {
  readonly #nodes = new Map<string, Redis>();
  #refreshTimer: NodeJS.Timeout | undefined;
  #lastRefresh = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly cluster: Cluster,
    /** Called before a node connects. */
    prepare: (node: Redis) => void,
    /** Called when a node has become ready, or the slot map is fresh. */
    private readonly changed: (what: 'node' | 'slots') => void,
  ) {
    cluster.on('+node', (node: Redis) => {
      this.#nodes.set(nodeKey(node), node);
      prepare(node);
      node.on('ready', () => changed('node'));
      // ioredis would connect at the first command, and refuse those that follow until that is done.
      if (node.status === 'wait') node.connect().catch(() => undefined);
    });
    cluster.on('-node', (node: Redis) => {
      if (this.#nodes.get(nodeKey(node)) === node) this.#nodes.delete(nodeKey(node));
    });
    cluster.on('refresh', () => changed('slots'));
    cluster.on('end', () => clearTimeout(this.#refreshTimer));
  }

  /** Whether no node is on its way to its first connection; a dead one is not waited for. */
  get settled(): boolean {
    for (const { status } of this.#nodes.values()) if (CONNECTING.has(status)) return false;
    return true;
  }

  /** Whether the master of the key can be sent to. If not, a refresh of the slot map is on its way. */
  isReadyFor(key: string): boolean {
    const master = this.cluster.slots[slotOf(key)]?.[0];
    if (master !== undefined && this.#nodes.get(master)?.status === 'ready') return true;
    this.#refreshSoon();
    return false;
  }

  #refreshSoon(): void {
    if (this.#refreshTimer !== undefined) return;
    const delay = Math.max(0, this.#lastRefresh + REFRESH_INTERVAL - performance.now());
    this.#refreshTimer = setTimeout(() => {
      this.#refreshTimer = undefined;
      this.#lastRefresh = performance.now();
      if (this.cluster.status === 'ready') this.cluster.refreshSlotsCache(() => this.changed('slots'));
    }, delay);
    this.#refreshTimer.unref();
  }
}

function nodeKey(node: Redis): string {
  return `${node.options.host}:${node.options.port}`;
}
