import { RedisThrottlerStorage } from '../../../libs/redis-patterns/src/throttler/redis-throttler-storage.js';
import type {
  LocalStorage,
  ThrottlerHit,
  ThrottlerStoreOptions,
} from '../../../libs/redis-patterns/src/throttler/throttler.types.js';
import { openEngine, type OpenEngine } from '../../support/engine.js';
import type { PlainConnection } from '../../support/topologies.js';

/** The storage of `@nestjs/throttler`, which is CommonJS that requires ES modules, and which Jest cannot load. */
export class CountingLocal implements LocalStorage {
  readonly calls: [key: string, limit: number][] = [];
  ended = false;

  increment(key: string, _ttl: number, limit: number): ReturnType<LocalStorage['increment']> {
    this.calls.push([key, limit]);
    return Promise.resolve({ totalHits: 1, timeToExpire: 60, isBlocked: false, timeToBlockExpire: 0 });
  }

  onApplicationShutdown(): void {
    this.ended = true;
  }
}

export interface TestStorage {
  readonly storage: RedisThrottlerStorage;
  readonly local: CountingLocal;
  readonly engine: OpenEngine;
  close(): Promise<void>;
}

/** A storage as one process has it. */
export async function openStorage(
  topology: { connection: PlainConnection; namespace: string },
  options: Partial<ThrottlerStoreOptions> = {},
  connectionOptions: object = {},
): Promise<TestStorage> {
  const engine = await openEngine(topology, connectionOptions);
  const local = new CountingLocal();
  // The machine of the tests is slow at times, and only specs of faults are about the deadline.
  const all = { deadline: 5000, onStoreError: 'closed', localShare: 1, ...options } as const;
  const storage = new RedisThrottlerStorage(engine.context, all, local);
  return { storage, local, engine, close: () => engine.close() };
}

/** A hit with what does not matter filled in: 3 in a minute, then blocked for a minute. */
export function hit(key: string, rest: Partial<ThrottlerHit> = {}): ThrottlerHit {
  return { key, ttl: 60_000, limit: 3, blockDuration: 60_000, throttlerName: 'default', ...rest };
}
