import type { HeldLease } from '../held-lease.js';
import { LeaseHandle } from '../lease-handle.js';

/**
 * Permits of a semaphore that are held. They have no fence: who holds permits is one of several.
 *
 * @example
 * ```ts
 * await using permit = await semaphores.acquire('reports', { limit: 3, wait: '10s' });
 * await render(report, { signal: permit.signal });
 * ```
 */
export class PermitHandle extends LeaseHandle {
  /** @internal */
  constructor(
    held: HeldLease,
    /** How many. */
    readonly permits: number,
  ) {
    super([held]);
  }

  override toJSON(): object {
    return { ...super.toJSON(), permits: this.permits };
  }
}
