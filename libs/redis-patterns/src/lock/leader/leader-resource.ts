import type { Resource } from '../resource.js';

/** The part of the lease in which nobody leads: the old leader has stopped, and no other can be elected yet. */
const MARGIN = 0.2;

/** How long a leader with that lease leads without being renewed, milliseconds. */
export function termOf(leaseMs: number): number {
  return Math.floor(leaseMs * (1 - MARGIN));
}

/** The lock of a leader: in Redis it lives for `leaseMs`, but whoever holds it must stop at the end of the shorter term. */
export function leaderResource(lock: Resource, leaseMs: number): Resource {
  // What is extended is the term; the lease grows with it.
  const leaseOf = (termMs: number): number => Math.round((termMs * leaseMs) / termOf(leaseMs));
  return {
    key: lock.key,
    waiterKind: lock.waiterKind,
    attempt: (token, waiter, termMs, limits) => lock.attempt(token, waiter, leaseOf(termMs), limits),
    extend: (token, termMs, limits) => lock.extend(token, leaseOf(termMs), limits),
    leave: (token, waiter, limits) => lock.leave(token, waiter, limits),
  };
}
