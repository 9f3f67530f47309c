import { afterEach } from '@jest/globals';
import type { ManagedConnection } from '../../../libs/redis-patterns/src/connection/index.js';
import { openEngine } from '../../support/engine.js';
import { uniqueNamespace, type PlainConnection } from '../../support/topologies.js';

const opened: ManagedConnection[] = [];
afterEach(closeConnections);

/** A connection that is ready, closed after the test. */
export async function openConnection(connection: PlainConnection, options: object = {}): Promise<ManagedConnection> {
  const engine = await openEngine({ connection, namespace: uniqueNamespace() }, options);
  opened.push(engine.connection);
  return engine.connection;
}

/** For tests whose servers end before them. */
export async function closeConnections(): Promise<void> {
  await Promise.all(opened.splice(0).map((connection) => connection.close()));
}
