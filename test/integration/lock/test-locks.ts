import { LockService } from 'nestjs-redis-patterns';
import { resolveLockOptions } from '../../../libs/redis-patterns/src/lock/lock.options.js';
import { openEngine, type OpenEngine } from '../../support/engine.js';
import type { PlainConnection } from '../../support/topologies.js';

export interface OpenLocks {
  readonly locks: LockService;
  readonly engine: OpenEngine;
  close(): Promise<void>;
}

/** Locks on a deployment, without NestJS. Whoever opens them closes them. */
export async function openLocks(
  setup: { connection: PlainConnection; namespace: string },
  options: object = {},
  connectionOptions: object = {},
): Promise<OpenLocks> {
  const engine = await openEngine(setup, connectionOptions);
  const locks = new LockService(engine.context, resolveLockOptions(options, 'the spec'));
  return {
    locks,
    engine,
    close: async () => {
      await locks.close();
      await engine.close();
    },
  };
}
