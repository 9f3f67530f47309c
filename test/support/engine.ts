import {
  ManagedConnection,
  resolveConnectionOptions,
  type EngineContext,
} from '../../libs/redis-patterns/src/connection/index.js';
import { KeyBuilder } from '../../libs/redis-patterns/src/keys/index.js';
import { Telemetry } from '../../libs/redis-patterns/src/telemetry/index.js';
import { isInMemory, openMemoryConnection } from './memory.js';
import type { PlainConnection } from './topologies.js';

export interface OpenEngine {
  readonly context: EngineContext;
  readonly connection: ManagedConnection;
  close(): Promise<void>;
}

/**
 * What an engine is built on, connected, without NestJS. Whoever opens it closes it.
 *
 * @param options connection options over those of the topology
 */
export async function openEngine(
  { connection, namespace }: { connection: PlainConnection; namespace: string },
  options: object = {},
): Promise<OpenEngine> {
  const where = 'the spec';
  const resolved = resolveConnectionOptions({ startup: 'fail-fast', ...connection, ...options }, where, 'connection');
  const telemetry = new Telemetry(namespace);
  const managed = isInMemory(connection)
    ? (openMemoryConnection() as unknown as ManagedConnection)
    : new ManagedConnection('default', namespace, resolved, telemetry);
  await managed.settleBoot();
  return {
    context: { connection: managed, keys: new KeyBuilder(namespace), telemetry },
    connection: managed,
    close: () => managed.close(),
  };
}
