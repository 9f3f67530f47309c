import { RedisUnavailableError } from '../../connection/index.js';
import type { HeldLease } from '../held-lease.js';
import { LeaseHandle } from '../lease-handle.js';
import { LockUnavailableError } from '../lock.errors.js';
import type { Side } from './side.js';

/** The read side of a lock that is held, beside other readers. */
export class ReadHandle extends LeaseHandle {}

/** The write side of a lock that is held, by nobody else. */
export class WriteHandle extends LeaseHandle {
  /** @internal */
  constructor(
    private readonly lease: HeldLease,
    private readonly side: Side,
  ) {
    super([lease]);
  }

  /** Grows with every grant of the write side of this key. */
  get fence(): bigint {
    return this.lease.grant.fence;
  }

  /** `false` after {@link downgrade}. */
  get canWrite(): boolean {
    return this.side.writes && this.isHeld();
  }

  /**
   * Becomes a reader, without a moment in which somebody else could write; other readers come in. From the call on, write no
   * more, whatever it answers. There is no way back: two readers that wait for each other to leave would wait for ever.
   *
   * @throws LockLostError
   * @throws LockUnavailableError when Redis did not confirm
   */
  async downgrade(): Promise<void> {
    this.assertHeld();
    try {
      const reply = await this.side.downgrade(this.token);
      // Not ours any more: the extension finds out why.
      if (reply !== 1) await this.lease.extend();
    } catch (error) {
      if (!(error instanceof RedisUnavailableError)) throw error;
      throw new LockUnavailableError(
        this.key,
        'it was not confirmed that it only reads now; others wait longer',
        error,
      );
    }
  }

  override toJSON(): object {
    return { ...super.toJSON(), fence: this.fence.toString() };
  }
}
