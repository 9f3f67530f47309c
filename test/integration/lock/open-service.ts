import type { EngineContext } from '../../../libs/redis-patterns/src/connection/index.js';
import { resolveLockOptions, type ResolvedLockOptions } from '../../../libs/redis-patterns/src/lock/lock.options.js';
import { openEngine, type OpenEngine } from '../../support/engine.js';
import type { PlainConnection } from '../../support/topologies.js';

export interface OpenService<Service> {
  readonly service: Service;
  readonly engine: OpenEngine;
  close(): Promise<void>;
}

/** A service of the locks on a deployment, without NestJS. Whoever opens it closes it. */
export async function openService<Service extends { close(): Promise<void> }>(
  create: new (context: EngineContext, options: ResolvedLockOptions) => Service,
  setup: { connection: PlainConnection; namespace: string },
  options: object = {},
): Promise<OpenService<Service>> {
  const engine = await openEngine(setup);
  const service = new create(engine.context, resolveLockOptions(options, 'the spec'));
  return {
    service,
    engine,
    close: async () => {
      await service.close();
      await engine.close();
    },
  };
}
