import { Deadline } from '../core/deadline.js';
import { startTimer, type Timer } from '../core/timer.js';
import type { EntryStore } from './entry-store.js';

export interface LeaseTimes {
  /** Milliseconds. */
  readonly lease: number;
  /** Milliseconds from the start after which the lease is left to run out. */
  readonly maxHold: number;
  /** Milliseconds for one renewal. */
  readonly deadline: number;
}

/**
 * Renews the lease of a running load every third of its time. A renewal that fails is tried again a third later; whether
 * the lease held is decided by the commit alone.
 *
 * @returns stops it
 */
export function keepLease(store: EntryStore, entryKey: string, token: string, times: LeaseTimes): () => void {
  const end = Deadline.after(times.maxHold);
  let timer: Timer | undefined;
  let stopped = false;
  const schedule = (): void => {
    timer = startTimer(times.lease / 3, () => void renew());
  };
  const renew = async (): Promise<void> => {
    const lease = Math.min(times.lease, Math.ceil(end.remaining()));
    if (lease === 0) return;
    const held = await store.renew(entryKey, token, lease, { deadline: times.deadline }).catch(() => true);
    if (held && !stopped) schedule();
  };
  schedule();
  return () => {
    stopped = true;
    timer?.clear();
  };
}
