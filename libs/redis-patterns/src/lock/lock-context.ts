import { AsyncLocalStorage } from 'node:async_hooks';
import type { LockHandle } from './lock-handle.js';

interface Frame {
  readonly handle: LockHandle;
  readonly outer: Frame | undefined;
}

/**
 * Which locks the running code holds by `using`: identity is the async context, not a process or a client. Work that was
 * started under a lock and outlives it does not hold it.
 */
export class LockContext {
  readonly #storage = new AsyncLocalStorage<Frame>();

  run<T>(handle: LockHandle, fn: () => T): T {
    return this.#storage.run({ handle, outer: this.#storage.getStore() }, fn);
  }

  /** The innermost handle that has not been released; with a key, the innermost of that lock. */
  current(lockKey?: string): LockHandle | undefined {
    for (let frame = this.#storage.getStore(); frame !== undefined; frame = frame.outer) {
      const { handle } = frame;
      if (!handle.released && (lockKey === undefined || handle.key === lockKey)) return handle;
    }
    return undefined;
  }
}
