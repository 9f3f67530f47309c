import type { PatternTracer } from '../telemetry/index.js';
import type { Charge } from './charges.js';
import type { Mode } from './limit-store.js';
import { RateLimitUnavailableError } from './rate-limit.errors.js';
import type { PolicyResult, RateLimitResult } from './rate-limit.result.js';

/** Tells a decision: of the call as a whole, and of each policy that was looked at. */
export function traceDecision(
  tracer: PatternTracer,
  charges: readonly Charge[],
  mode: Mode = 'take',
  decide: () => Promise<RateLimitResult>,
): Promise<RateLimitResult> {
  const names = charges.map(({ policy }) => policy.name);
  const facts = { operation: mode === 'peek' ? 'peek' : 'consume', name: names.join(' ') };
  return tracer.run(facts, decide, {
    ended: ({ allowed, source, policies }, operation) => {
      operation.outcome = allowed ? 'allowed' : 'denied';
      operation.source = source;
      // A list decides without looking at any.
      operation.decisions =
        policies.length > 0
          ? policies.map((each) => ({ policy: each.policy, outcome: outcomeOf(each) }))
          : names.map((policy) => ({ policy, outcome: operation.outcome! }));
    },
    failed: (error, operation) => {
      if (!(error instanceof RateLimitUnavailableError)) return undefined;
      operation.source = 'closed';
      operation.decisions = names.map((policy) => ({ policy, outcome: 'closed' }));
      return 'closed';
    },
  });
}

function outcomeOf({ allowed, shadow }: PolicyResult): string {
  if (allowed) return 'allowed';
  return shadow ? 'shadow' : 'denied';
}
