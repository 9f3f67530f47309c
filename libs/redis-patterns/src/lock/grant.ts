import { localDeadline, type AttemptReply } from './resource.js';

/** A lease that was taken. */
export interface Grant {
  readonly token: string;
  /** 0n where there is none. */
  readonly fence: bigint;
  /** From when on it is held, on the clock of `performance.now()`. */
  readonly since: number;
  /** When the holder must stop, on the same clock. */
  readonly deadline: number;
  /** Whether its last holder handed it over, with less than a lease: it has to be extended at once. */
  readonly handedOver: boolean;
  /** Whether another request with this token may still be on its way. */
  readonly straggler: boolean;
}

/** Somebody else has it, or comes first. */
export interface Busy {
  /** Milliseconds until the holder's lease ends. */
  readonly retryAfterMs: number;
}

/** The answer to a request: no, not yet. */
export interface Refusal extends Busy {
  readonly leftMs: number;
  readonly rank: number;
  readonly headMs: number;
  /** `''`: unknown. */
  readonly lastFence: string;
  /** When the request was sent that this is the answer to. */
  readonly sentAt: number;
}

export function refusalOf(
  [, leftMs, rank, headMs, lastFence = '']: Extract<AttemptReply, readonly [0, ...unknown[]]>,
  sentAt: number,
): Refusal {
  let retryAfterMs = leftMs;
  if (leftMs === -1) retryAfterMs = Infinity;
  // Free, but others have waited longer.
  if (leftMs === -2) retryAfterMs = headMs;
  return { leftMs, rank, headMs, retryAfterMs, lastFence, sentAt };
}

/**
 * The lease that its last holder handed over to somebody who waits, if it is still good: he counted as alive for `liveness` from
 * his last answered request on, and so long it lasts. A message about an earlier one, which was missed, has no newer fence than
 * that answer.
 */
export function handedOver(
  fence: string,
  { sentAt, lastFence }: Refusal,
  { lease, liveness }: { readonly lease: number; readonly liveness: number },
): Pick<Grant, 'fence' | 'since' | 'deadline' | 'handedOver'> | undefined {
  const since = performance.now();
  const deadline = localDeadline(sentAt, Math.min(lease, liveness));
  if (since >= deadline || lastFence === '' || BigInt(fence) <= BigInt(lastFence)) return undefined;
  return { fence: BigInt(fence), since, deadline, handedOver: true };
}
