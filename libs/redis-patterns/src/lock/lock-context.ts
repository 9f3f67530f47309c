import { AsyncLocalStorage } from 'node:async_hooks';
import type { HeldLease } from './held-lease.js';
import type { LeaseHandle } from './lease-handle.js';

interface Frame<Handle> {
  readonly handle: Handle;
  readonly outer: Frame<Handle> | undefined;
}

/**
 * Which locks the running code holds by `using`: identity is the async context, not a process or a client. Work that was
 * started under a lock and outlives it does not hold it.
 */
export class LockContext<Handle extends LeaseHandle> {
  readonly #storage = new AsyncLocalStorage<Frame<Handle>>();

  run<T>(handle: Handle, fn: () => T): T {
    return this.#storage.run({ handle, outer: this.#storage.getStore() }, fn);
  }

  /** The innermost handle that has not been released. */
  current(): Handle | undefined {
    for (let frame = this.#storage.getStore(); frame !== undefined; frame = frame.outer) {
      if (!frame.handle.released) return frame.handle;
    }
    return undefined;
  }

  /** The lease of a lock that the running code holds. */
  leaseOf(lockKey: string): HeldLease | undefined {
    for (let frame = this.#storage.getStore(); frame !== undefined; frame = frame.outer) {
      const { handle } = frame;
      const lease = handle.released ? undefined : handle.leases.find(({ key }) => key === lockKey);
      if (lease !== undefined) return lease;
    }
    return undefined;
  }
}
