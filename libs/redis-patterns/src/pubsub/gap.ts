/**
 * Why messages may be missing:
 * - `disconnected`: the socket was lost, also when nothing but silence showed it;
 * - `moved`: the slot of a sharded channel went to another node of the Cluster;
 * - `overflow`: the handler was too slow, and more than `maxPending` messages waited;
 * - `sequence`: a sender has counted further than what arrived (`sequence: true`);
 * - `trimmed`: what is kept of a reliable channel (`maxLen`, `ttl`) no longer holds what was missed;
 * - `reset`: what was kept is gone or was set back, by a deletion, a restart without persistence or a failover;
 * - `unreadable`: a message came, but could not be read, or did not fit its schema.
 */
export type GapReason = 'disconnected' | 'moved' | 'overflow' | 'sequence' | 'trimmed' | 'reset' | 'unreadable';

/** Messages of a channel that may be missing. It comes before the first message that is later than they are. */
export interface SubscriptionGap {
  /** As the subscription names it: a channel, or a pattern. */
  readonly channel: string;
  readonly isPattern: boolean;
  /** `Class.method`, or the name that was given to the subscription: a channel may have several. */
  readonly subscription: string;
  /** What is missing was published between these times, as the clock of this process has them. */
  readonly from: Date;
  readonly to: Date;
  readonly reason: GapReason;
  /** How many, where that is known. */
  readonly missed?: number;
}

/** What is told of a gap; it is waited for before the next message is handled. */
export type GapListener = (gap: SubscriptionGap) => unknown;

/** A gap of a subscription that has not been told yet; times are milliseconds since the epoch. */
export interface PendingGap {
  readonly from: number;
  readonly to: number;
  readonly reason: GapReason;
  readonly missed?: number | undefined;
}

/** One gap out of two with no message between them. */
export function mergeGaps(one: PendingGap, other: PendingGap): PendingGap {
  const known = one.missed !== undefined && other.missed !== undefined;
  return {
    from: Math.min(one.from, other.from),
    to: Math.max(one.to, other.to),
    reason: one.reason,
    missed: known ? one.missed! + other.missed! : undefined,
  };
}
