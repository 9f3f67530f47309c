import { BloomFilterService, CounterService, UniqueCounterService } from 'nestjs-redis-patterns';
import { openEngine, type OpenEngine } from '../../support/engine.js';
import type { PlainConnection } from '../../support/topologies.js';

export interface OpenCounting {
  readonly counters: CounterService;
  readonly unique: UniqueCounterService;
  readonly filters: BloomFilterService;
  readonly engine: OpenEngine;
}

/** Counting without NestJS, as one process would have it. Whoever opens it closes the engine. */
export async function openCounting(
  setup: { connection: PlainConnection; namespace: string },
  // The machine of the tests is slow at times, and only specs of faults are about the deadline.
  options: object = { commandTimeout: 5000 },
): Promise<OpenCounting> {
  const engine = await openEngine(setup, options);
  const { context } = engine;
  return {
    engine,
    counters: new CounterService(context),
    unique: new UniqueCounterService(context),
    filters: new BloomFilterService(context),
  };
}

/** Different texts, the same each time. */
export function texts(prefix: string, count: number, from = 0): string[] {
  return Array.from({ length: count }, (_, n) => `${prefix}-${from + n}`);
}
