import { z } from 'zod';
import { durationSchema, formatDuration, type Duration } from '../../core/index.js';

/**
 * Names the run that a moment belongs to, such as the day or the hour. `now` is the time of the Redis server, the same for
 * all processes. Round where a schedule fires at the edge of two: `(now) => Math.round(now.getTime() / 3_600_000)`.
 */
export type RunSlot = (now: Date) => string | number;

/** What is one run. */
export interface RunOnceOptions {
  /**
   * A duration: two runs are at least `per − tolerance` apart, from start to start, by the server's clock. A function: each
   * slot that it names runs once.
   */
  per: Duration | RunSlot;
  /**
   * Only with a duration: how much earlier than `per` the next run may start, for schedules that do not fire at the exact
   * time. Shorter than `per`. Default 10 % of `per`.
   */
  tolerance?: Duration;
  /** Only with a function: how long a slot that has run is remembered. Default 24 h. */
  retention?: Duration;
}

/** Parsed {@link RunOnceOptions}. */
export interface ResolvedRunOnce {
  /** Without one there is a single slot. */
  readonly slot: RunSlot | undefined;
  /** How long the slot stays taken, milliseconds. */
  readonly ttl: number;
}

const LONGEST = 366 * 86_400_000;
const DAY = 86_400_000;

/** The options as an object shape, for `@RunOnce`, which has more of them. */
export const runOnceShape = {
  per: z.union([
    z.custom<RunSlot>(
      (value) => typeof value === 'function',
      "must be a function of the server's time that names the slot",
    ),
    durationSchema({ min: 100, max: LONGEST }),
  ]),
  tolerance: durationSchema({ max: LONGEST }).optional(),
  retention: durationSchema({ min: 1000, max: LONGEST }).optional(),
};

interface Given {
  readonly per: number | RunSlot;
  readonly tolerance?: number | undefined;
  readonly retention?: number | undefined;
}

/** Refuses what contradicts itself. */
export function checkRunOnce({ per, tolerance, retention }: Given, context: z.RefinementCtx): void {
  const refuse = (path: string, message: string) => context.addIssue({ code: 'custom', path: [path], message });
  if (typeof per === 'function') {
    if (tolerance !== undefined) refuse('tolerance', "is only for a 'per' that is a duration; the function may round");
    return;
  }
  if (retention !== undefined) {
    refuse('retention', "is only for a 'per' that is a function; a duration is remembered for itself less 'tolerance'");
  }
  if (tolerance !== undefined && tolerance >= per) {
    refuse('tolerance', `must be shorter than 'per' (${formatDuration(per)})`);
  }
}

/** Schema of {@link RunOnceOptions}. */
export const runOnceSchema = z.strictObject(runOnceShape).superRefine(checkRunOnce);

/** What the parsed options mean. */
export function resolveRunOnce({ per, tolerance, retention }: Given): ResolvedRunOnce {
  if (typeof per === 'function') return { slot: per, ttl: retention ?? DAY };
  return { slot: undefined, ttl: Math.max(1, Math.ceil(per - (tolerance ?? per / 10))) };
}
