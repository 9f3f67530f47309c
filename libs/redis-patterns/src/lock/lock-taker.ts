import { InvalidOptionsError } from '../core/index.js';
import type { Key } from '../keys/index.js';
import type { HeldLease } from './held-lease.js';
import type { Leases } from './leases.js';
import type { LockContext } from './lock-context.js';
import { LockHandle } from './lock-handle.js';
import { LockReentryError, LockTimeoutError } from './lock.errors.js';
import type { ResolvedLockCall } from './lock.options.js';
import { takeMany } from './many-locks.js';
import type { LockKeys } from './single-lock.js';
import type { Resource } from './resource.js';

/** Where the locks are. */
export interface Locks {
  /** @throws InvalidKeyError */
  keysOf(key: Key): LockKeys;
  resource(keys: LockKeys, fair: boolean): Resource;
}

/** Takes locks, one or several, and knows those that the calling code holds already. */
export class LockTaker {
  constructor(
    private readonly leases: Leases,
    private readonly locks: Locks,
    private readonly callers: LockContext<LockHandle>,
  ) {}

  /** @throws LockUnavailableError, LockReentryError, LockLostError, InvalidKeyError, InvalidOptionsError, `signal.reason` */
  async take(keys: readonly Key[], call: ResolvedLockCall): Promise<LockHandle | LockTimeoutError> {
    if (keys.length !== 1) return this.#takeMany(keys, call);
    const lock = this.locks.keysOf(keys[0]!);
    const mine = this.#mine([lock.lock], call);
    if (mine.length > 0) return new LockHandle(mine);
    const taken = await this.leases.take(this.locks.resource(lock, call.fair), call);
    if ('release' in taken) return new LockHandle([taken]);
    return new LockTimeoutError(lock.lock, call.wait, taken.retryAfterMs);
  }

  async #takeMany(keys: readonly Key[], call: ResolvedLockCall): Promise<LockHandle | LockTimeoutError> {
    if (keys.length === 0) {
      throw new InvalidOptionsError('LockService', [{ path: 'keys', message: 'must hold at least one key' }]);
    }
    const locks = new Map(keys.map((key) => this.locks.keysOf(key)).map((lock) => [lock.lock, lock]));
    const names = [...locks.keys()].toSorted();
    const mine = this.#mine(names, call);
    const others = names.filter((name) => !mine.some(({ key }) => key === name));
    const resources = others.map((name) => this.locks.resource(locks.get(name)!, call.fair));
    try {
      const taken = await takeMany(this.leases, resources, call);
      if (!(taken instanceof LockTimeoutError)) return new LockHandle([...mine, ...taken].toSorted(byKey));
      await this.#giveBack(mine);
      return taken;
    } catch (error) {
      await this.#giveBack(mine);
      throw error;
    }
  }

  /** One more hold of those locks that the calling code holds already. */
  #mine(lockKeys: readonly string[], { reentrant }: ResolvedLockCall): HeldLease[] {
    const leases = lockKeys.flatMap((key) => this.callers.leaseOf(key) ?? []);
    for (const lease of leases) {
      if (!reentrant) throw new LockReentryError(lease.key);
      lease.assertHeld();
    }
    return leases.map((lease) => lease.retain());
  }

  async #giveBack(shared: readonly HeldLease[]): Promise<void> {
    if (shared.length > 0) await this.leases.quietly(new LockHandle(shared).release());
  }
}

function byKey(a: HeldLease, b: HeldLease): number {
  return a.key < b.key ? -1 : 1;
}
