import { IdempotencyService } from 'nestjs-redis-patterns';
import { resolveIdempotencyOptions } from '../../../libs/redis-patterns/src/idempotency/idempotency.options.js';
import { openEngine } from '../../support/engine.js';
import type { PlainConnection } from '../../support/topologies.js';

export interface OpenIdempotency {
  readonly service: IdempotencyService;
  close(): Promise<void>;
}

/** Idempotency on a deployment, without NestJS. Whoever opens it closes it. */
export async function openIdempotency(
  setup: { connection: PlainConnection; namespace: string },
  options: object = {},
  connectionOptions: object = {},
): Promise<OpenIdempotency> {
  const engine = await openEngine(setup, connectionOptions);
  const service = new IdempotencyService(engine.context, resolveIdempotencyOptions(options, 'the spec'));
  return {
    service,
    close: async () => {
      await service.close();
      await engine.close();
    },
  };
}

/** A promise that the spec settles. */
export function gate<T = void>(): { promise: Promise<T>; open: (value: T) => void } {
  let open!: (value: T) => void;
  const promise = new Promise<T>((resolve) => (open = resolve));
  return { promise, open };
}
