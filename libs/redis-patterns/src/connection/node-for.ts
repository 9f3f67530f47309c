import { Cluster, type Redis } from 'ioredis';
import { slotOf } from '../keys/index.js';
import { addressOf } from './connection-url.js';
import { mapAddress } from './ready-nodes-cluster.js';
import type { RedisClient } from './redis-connection.js';

/** The node that has the slot of a key, as far as the client knows. */
export function masterOf(cluster: Cluster, key: string): Redis | undefined {
  const address = cluster.slots[slotOf(key)]?.[0];
  if (address === undefined) return undefined;
  const mapped = mapAddress(cluster, address);
  return cluster.nodes('all').find(({ options }) => {
    const known = addressOf(options);
    return known === address || known === mapped;
  });
}

/**
 * Where to send a command that names no key: ioredis would take any node of a Cluster, another one each time, and what was
 * sent first might be heard last.
 */
export function nodeFor(client: RedisClient, key: string): RedisClient {
  return client instanceof Cluster ? (masterOf(client, key) ?? client) : client;
}
