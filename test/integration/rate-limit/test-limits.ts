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
  // And only specs of the block cache want to be answered without Redis.
  const resolved = resolveRateLimitOptions({ deadline: '5s', blockCache: false, ...options }, 'the spec');
  const limits = new RateLimitService(engine.context, resolved);
  const close = async (): Promise<void> => {
    await limits.close();
    await engine.close();
  };
  return { limits, engine, close };
}

/** A call that was admitted, with the server time of the decision in microseconds. */
export interface Admitted {
  readonly at: number;
  readonly charged: number;
}

/** The most units that were admitted in any window of `ms`: an exact log of what the limits let through. */
export function mostInAnyWindow(calls: readonly Admitted[], ms: number): number {
  const ordered = calls.toSorted((a, b) => a.at - b.at);
  let most = 0;
  let units = 0;
  for (let from = 0, to = 0; to < ordered.length; to++) {
    units += ordered[to]!.charged;
    while (ordered[to]!.at - ordered[from]!.at >= ms * 1000) units -= ordered[from++]!.charged;
    most = Math.max(most, units);
  }
  return most;
}

/** Waits so long, and not a fraction of a millisecond less, as timers may. */
export async function wait(ms: number): Promise<void> {
  const end = performance.now() + ms;
  for (let left = ms; left > 0; left = end - performance.now()) {
    await new Promise((resolve) => setTimeout(resolve, Math.ceil(left)));
  }
}
