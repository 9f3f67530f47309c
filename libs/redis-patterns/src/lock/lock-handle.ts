import { LeaseHandle } from './lease-handle.js';

/**
 * A lock that is held, or several. Stop when `signal` aborts: from then on somebody else may have it. Pass `fence` to whatever
 * the lock protects, and have that refuse a smaller one: nothing else keeps two holders apart after a failover.
 *
 * @example
 * ```ts
 * await using lock = await locks.acquire(['order', id], { lease: '10s' });
 * await db.query('UPDATE orders SET …, fence = $1 WHERE id = $2 AND fence < $1', [lock.fence, id]);
 * ```
 */
export class LockHandle extends LeaseHandle {
  /** Grows with every grant of this key. Of several locks, the highest, which grows for each of them. */
  get fence(): bigint {
    let highest = 0n;
    for (const { grant } of this.leases) if (grant.fence > highest) highest = grant.fence;
    return highest;
  }

  /** The fence of each key. */
  get fences(): ReadonlyMap<string, bigint> {
    return new Map(this.leases.map(({ key, grant }) => [key, grant.fence]));
  }

  /** For logs: without the token, and with the fence as text, as JSON has no bigint. */
  override toJSON(): object {
    return { ...super.toJSON(), fence: this.fence.toString() };
  }
}
