import { Cluster } from 'ioredis';
import { addressOf, natMapped } from './connection-url.js';

type HandleError = Cluster['handleError'];

/**
 * A Cluster client that follows a redirect only to a node it can send to. ioredis answers "Connection is closed." when the
 * node is still connecting, as if a command had been lost that was never sent there: in a failover on command that is the
 * usual case. The redirect itself says what is known (nothing was done), and the gate repeats once the node is ready.
 */
export class RedirectingCluster extends Cluster {
  override handleError(...[error, ttl, handlers]: Parameters<HandleError>): ReturnType<HandleError> {
    const [word, , address] = error.message.split(' ');
    if (word === 'MOVED' && !this.#isReady(address ?? '')) handlers.defaults();
    else super.handleError(error, ttl, handlers);
  }

  #isReady(address: string): boolean {
    const mapped = mapAddress(this, address);
    return this.nodes('all').some((node) => addressOf(node.options) === mapped && node.status === 'ready');
  }
}

/** What an address that a server names is called from here. */
export function mapAddress({ options: { natMap } }: Cluster, address: string): string {
  const mapped = natMapped(natMap, address);
  return mapped === undefined ? address : addressOf(mapped);
}
