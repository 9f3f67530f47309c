import { Cluster, type ClusterOptions, type Redis } from 'ioredis';
import { addressOf, natMapped, type HostPort } from './connection-url.js';

type HandleError = Cluster['handleError'];
/** Without an error the client is ready. */
type ReadyCheck = (conclude: (error?: unknown) => void) => void;

/**
 * A Cluster client that sends to a node which is ready, where ioredis takes any and answers "Connection is closed." for one
 * that is still connecting, as if a command had been lost that was never sent there.
 */
export class ReadyNodesCluster extends Cluster {
  constructor(seeds: readonly HostPort[], options: ClusterOptions) {
    super([...seeds], options as object);
    // ioredis keeps it to itself. A seed that is no member (a name in front of the nodes, a proxy) leaves none but nodes that
    // are still connecting, so its own check failed again and again; with one seed of three masters it did two times of three.
    (this as unknown as { readyCheck: ReadyCheck }).readyCheck = (conclude) => {
      this.#onceOneIsReady((node) => void this.#checkState(node, conclude));
    };
  }

  /**
   * Follows a redirect only to a node that is ready: in a failover on command the other is the usual case. The redirect itself
   * says what is known (nothing was done), and the gate repeats once the node is ready.
   */
  override handleError(...[error, ttl, handlers]: Parameters<HandleError>): ReturnType<HandleError> {
    const [word, , address] = error.message.split(' ');
    if (word === 'MOVED' && !this.#isReady(address ?? '')) handlers.defaults();
    else super.handleError(error, ttl, handlers);
  }

  #isReady(address: string): boolean {
    const mapped = mapAddress(this, address);
    return this.nodes('all').some((node) => addressOf(node.options) === mapped && node.status === 'ready');
  }

  /** When all nodes end instead, so does this attempt to connect. */
  #onceOneIsReady(listener: (node: Redis) => void): void {
    const nodes = this.nodes('all');
    const ready = nodes.find(({ status }) => status === 'ready');
    if (ready !== undefined) return listener(ready);
    const listeners = nodes.map((node) => {
      const first = (): void => {
        for (const [other, its] of listeners) other.off('ready', its);
        listener(node);
      };
      node.once('ready', first);
      return [node, first] as const;
    });
  }

  /** It fails when the Cluster does not serve, or the node does not say. */
  async #checkState(node: Redis, conclude: (error?: unknown) => void): Promise<void> {
    try {
      const info = String(await node.cluster('INFO'));
      if (/^cluster_state:fail/m.test(info)) throw new Error('cluster_state is fail: slots are not served');
    } catch (error) {
      this.emit('node error', error, addressOf(node.options));
      return conclude(error);
    }
    conclude();
  }
}

/** What an address that a server names is called from here. */
export function mapAddress({ options: { natMap } }: Cluster, address: string): string {
  const mapped = natMapped(natMap, address);
  return mapped === undefined ? address : addressOf(mapped);
}
