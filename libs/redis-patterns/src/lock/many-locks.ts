import type { Busy } from './grant.js';
import type { HeldLease } from './held-lease.js';
import { LockTimeoutError } from './lock.errors.js';
import type { LeaseCall, Leases } from './leases.js';
import type { Resource } from './resource.js';

type Taken = HeldLease | Busy;

/**
 * Takes several locks, all or none, also in different slots. Whoever waits holds only locks whose keys come before the one
 * that it waits for, so that no circle of waiters can close.
 *
 * @param resources in the order of their keys, none twice
 * @returns their leases; or an error that says which one somebody else held
 * @throws LockUnavailableError, `signal.reason`; then none is held
 */
export async function takeMany(
  leases: Leases,
  resources: readonly Resource[],
  call: LeaseCall,
): Promise<HeldLease[] | LockTimeoutError> {
  const waitUntil = performance.now() + call.wait;
  // What is held while others are waited for has to live that long.
  const patient: LeaseCall = { ...call, autoExtend: true };
  const held: HeldLease[] = [];
  const giveBack = (some: readonly Taken[]): void => {
    for (const lease of some) if ('release' in lease) void leases.quietly(lease.release());
  };
  try {
    for (;;) {
      const rest = await tryAll(leases, resources.slice(held.length), patient, giveBack);
      const refused = rest.findIndex((taken) => !('release' in taken));
      held.push(...(rest.slice(0, refused < 0 ? rest.length : refused) as HeldLease[]));
      if (refused < 0) return await settle(held, call);
      giveBack(rest.slice(refused));
      let busy = rest[refused] as Busy;
      const next = resources[held.length]!;
      const wait = waitUntil - performance.now();
      if (wait > 0) {
        const taken = await leases.take(next, { ...patient, wait });
        if ('release' in taken) {
          held.push(taken);
          if (held.length === resources.length) return await settle(held, call);
          continue;
        }
        busy = taken;
      }
      giveBack(held);
      return new LockTimeoutError(next.key, call.wait, busy.retryAfterMs);
    }
  } catch (error) {
    giveBack(held);
    throw error;
  }
}

/** All at once, in one packet; none queues. */
async function tryAll(
  leases: Leases,
  resources: readonly Resource[],
  call: LeaseCall,
  giveBack: (some: readonly Taken[]) => void,
): Promise<Taken[]> {
  const tries = resources.map((resource) => leases.take(resource, { ...call, wait: 0 }));
  const results = await Promise.allSettled(tries);
  const failure = results.find((result) => result.status === 'rejected');
  if (failure === undefined) return Promise.all(tries);
  giveBack(results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : [])));
  throw failure.reason;
}

/** Those that were waited with get a whole lease; one that was lost meanwhile fails the call, as none is without the others. */
async function settle(held: HeldLease[], { autoExtend, lease }: LeaseCall): Promise<HeldLease[]> {
  const aged = held.filter(({ grant }) => performance.now() - grant.since > lease / 10);
  await Promise.all(aged.map((each) => each.extend()));
  for (const each of held) each.autoExtend(autoExtend);
  return held;
}
