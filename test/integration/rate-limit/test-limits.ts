import {
  RateLimitService,
  resolveRateLimitOptions,
  type RateLimitOptions,
} from '../../../libs/redis-patterns/src/rate-limit/index.js';
import { openEngine, type OpenEngine } from '../../support/engine.js';
import type { PlainConnection } from '../../support/topologies.js';

/** Rate limits without NestJS, as one process would have them. */
export interface TestLimits {
  readonly limits: RateLimitService;
  readonly engine: OpenEngine;
  close(): Promise<void>;
}

export async function openLimits(
  topology: { connection: PlainConnection; namespace: string },
  options: RateLimitOptions = {},
  connectionOptions: object = {},
): Promise<TestLimits> {
  const engine = await openEngine(topology, connectionOptions);
  // The machine of the tests is slow at times, and only specs of faults are about the deadline.
  const resolved = resolveRateLimitOptions({ deadline: '5s', ...options }, 'the spec');
  return { limits: new RateLimitService(engine.context, resolved), engine, close: () => engine.close() };
}

/** The most units that were admitted in any window: `at` in microseconds, windows of `ms`. */
export function mostInAnyWindow(at: readonly number[], ms: number): number {
  const ordered = at.toSorted((a, b) => a - b);
  let most = 0;
  for (let from = 0, to = 0; to < ordered.length; to++) {
    while (ordered[to]! - ordered[from]! >= ms * 1000) from++;
    most = Math.max(most, to - from + 1);
  }
  return most;
}

export function wait(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
