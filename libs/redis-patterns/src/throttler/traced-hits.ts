import { RateLimitUnavailableError } from '../rate-limit/index.js';
import type { PatternTracer } from '../telemetry/index.js';
import type { ThrottlerRecord } from './throttler.types.js';

interface HitOutcome {
  readonly record: ThrottlerRecord;
  /** Missing when Redis did not count it. */
  readonly at?: number;
}

/** Tells what became of hits, by the names of their limits; `withoutStore` says who decides when Redis does not. */
export function traceHits<Outcome extends HitOutcome>(
  tracer: PatternTracer,
  names: readonly string[],
  withoutStore: string,
  count: () => Promise<Outcome[]>,
): Promise<Outcome[]> {
  return tracer.run({ operation: 'hit', name: names.join(' ') }, count, {
    ended: (outcomes, operation) => {
      const refused = outcomes.some(({ record }) => record.isBlocked);
      operation.outcome = refused ? 'denied' : 'allowed';
      operation.source = outcomes.every(({ at }) => at !== undefined) ? 'redis' : withoutStore;
      operation.decisions = names.map((policy, index) => ({
        policy,
        outcome: outcomes[index]!.record.isBlocked ? 'denied' : 'allowed',
      }));
    },
    failed: (error, operation) => {
      if (!(error instanceof RateLimitUnavailableError)) return undefined;
      operation.source = 'closed';
      operation.decisions = names.map((policy) => ({ policy, outcome: 'closed' }));
      return 'closed';
    },
  });
}
