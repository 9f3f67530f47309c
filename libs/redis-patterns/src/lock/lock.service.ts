import { AsyncLocalStorage } from 'node:async_hooks';
import { parseOptions, RedisPatternsError, startTimer } from '../core/index.js';
import type { EngineContext } from '../connection/index.js';
import type { Key } from '../keys/index.js';
import { Acquisition } from './acquisition.js';
import { HeldLock } from './held-lock.js';
import { LockCommands, ownerOf } from './lock-commands.js';
import { LockHandle } from './lock-handle.js';
import { LockReentryError, LockTimeoutError, LockUnavailableError } from './lock.errors.js';
import {
  lockCallSchema,
  lockUsingSchema,
  mergeLockCall,
  type LockCallOptions,
  type LockUsingOptions,
  type ResolvedLockCall,
  type ResolvedLockOptions,
} from './lock.options.js';
import { Reaper } from './reaper.js';

/** Who holds a lock. */
export interface LockInfo {
  /** Host, process id and a random number of the holder's process. */
  readonly owner: string;
  readonly fence: bigint | undefined;
  /** Milliseconds until its lease ends, if it is not renewed. */
  readonly remainingMs: number;
}

/** The locks that are held by the code that runs, innermost first. */
interface Frame {
  readonly handle: LockHandle;
  readonly outer: Frame | undefined;
}

/**
 * Locks across processes: one holder at a time while its lease lasts, fenced, renewed, and given up in time when Redis does
 * not answer. What a lock on Redis cannot promise, and how `fence` closes that, is in docs/locks.md.
 *
 * @example
 * ```ts
 * await this.locks.using(['stock', productId], { wait: '2s' }, async (lock) => {
 *   await this.stock.take(productId, { fence: lock.fence, signal: lock.signal });
 * });
 * ```
 */
export class LockService {
  readonly #commands: LockCommands;
  readonly #reaper: Reaper;
  readonly #frames = new AsyncLocalStorage<Frame>();
  readonly #held = new Set<HeldLock>();
  readonly #running = new Set<Promise<unknown>>();
  readonly #closing = new AbortController();

  constructor(
    private readonly context: EngineContext,
    readonly options: ResolvedLockOptions,
  ) {
    this.#commands = new LockCommands(context);
    this.#reaper = new Reaper(this.#commands);
  }

  /**
   * Takes a lock. The caller releases it; it is not renewed unless `autoExtend` says so, so that a forgotten handle dies.
   *
   * @throws LockTimeoutError when somebody else held it for all of `wait`
   * @throws LockUnavailableError when Redis could not be asked
   * @throws LockReentryError when the caller's async context holds it already
   */
  async acquire(key: Key, options: LockCallOptions = {}): Promise<LockHandle> {
    const call = this.#resolve('acquire()', lockCallSchema, options, false);
    const taken = await this.#take(key, call);
    if (taken instanceof LockTimeoutError) throw taken;
    return taken;
  }

  /** As {@link acquire}, with `null` for a lock that somebody else holds. */
  async tryAcquire(key: Key, options: LockCallOptions = {}): Promise<LockHandle | null> {
    const call = this.#resolve('tryAcquire()', lockCallSchema, options, false);
    const taken = await this.#take(key, call);
    return taken instanceof LockTimeoutError ? null : taken;
  }

  /**
   * Runs a function under a lock, renewed while it runs and released afterwards. The result or the error of the function is
   * never replaced by an error of the release.
   *
   * @throws what the function throws, unchanged
   * @throws LockTimeoutError, LockUnavailableError, LockReentryError as {@link acquire}
   * @throws LockLostError when the function succeeded, but the lock was lost meanwhile (see `onLost`)
   */
  async using<T>(key: Key, options: LockUsingOptions, fn: (lock: LockHandle) => Promise<T> | T): Promise<T> {
    return this.run(key, this.#resolve('using()', lockUsingSchema, options, true), fn, (busy) => Promise.reject(busy));
  }

  /**
   * {@link using}, with options that are parsed already and an answer for a busy lock.
   *
   * @internal
   */
  async run<T>(
    key: Key,
    call: ResolvedLockCall,
    fn: (lock: LockHandle) => Promise<T> | T,
    onBusy: (busy: LockTimeoutError) => Promise<T> | T,
  ): Promise<T> {
    const taken = await this.#take(key, call);
    if (taken instanceof LockTimeoutError) return onBusy(taken);
    const running = this.#runUnder(taken, call, fn);
    this.#running.add(running);
    try {
      return await running;
    } finally {
      this.#running.delete(running);
    }
  }

  /** The innermost lock that the calling code runs under. */
  current(): LockHandle | undefined {
    return this.#frames.getStore()?.handle;
  }

  /**
   * Tells who holds a lock; `null` when it is free.
   *
   * @throws RedisUnavailableError when Redis could not be asked: that is not the same as free
   */
  async inspect(key: Key): Promise<LockInfo | null> {
    const found = await this.#commands.inspect(this.#commands.keysOf(key));
    if (found === null) return null;
    const [token, leftMs, fence] = found;
    return { owner: ownerOf(token), fence: fence === '' ? undefined : BigInt(fence), remainingMs: leftMs };
  }

  /** Refuses new locks, ends waiting, lets running functions end within `shutdownTimeout`, and releases what is left. */
  async close(): Promise<void> {
    this.#closing.abort(
      new RedisPatternsError('ERR_LOCK_CLOSED', 'The application shuts down: no lock is taken any more'),
    );
    await settledWithin([...this.#running], this.options.shutdownTimeout);
    await Promise.allSettled([...this.#held].map((lock) => lock.shutDown()));
    // Functions that were told to stop settle now, and what they leave behind is cleaned up.
    await this.#reaper.close();
  }

  /** What lives in this process because of locks: none of it outlives its lock. */
  stats(): { readonly held: number; readonly running: number; readonly cleaning: number } {
    return { held: this.#held.size, running: this.#running.size, cleaning: this.#reaper.size };
  }

  #resolve(
    method: string,
    schema: typeof lockUsingSchema | typeof lockCallSchema,
    options: LockUsingOptions,
    autoExtend: boolean,
  ): ResolvedLockCall {
    return mergeLockCall(parseOptions(schema, options, `LockService.${method}`), this.options, autoExtend);
  }

  async #take(key: Key, call: ResolvedLockCall): Promise<LockHandle | LockTimeoutError> {
    const keys = this.#commands.keysOf(key);
    const mine = this.#heldHere(keys.lock);
    if (mine !== undefined) {
      if (!call.reentrant) throw new LockReentryError(keys.lock);
      mine.references++;
      return new LockHandle(mine);
    }
    this.#closing.signal.throwIfAborted();
    const { lease, wait } = call;
    const signal =
      call.signal === undefined ? this.#closing.signal : AbortSignal.any([call.signal, this.#closing.signal]);
    const outcome = await new Acquisition(this.#commands, this.#reaper, { keys, lease, wait, signal }).run();
    if (!('token' in outcome)) return new LockTimeoutError(keys.lock, wait, outcome.retryAfterMs);
    const owner = {
      commands: this.#commands,
      reaper: this.#reaper,
      ended: (lock: HeldLock) => void this.#held.delete(lock),
    };
    const held = new HeldLock(owner, keys, outcome, call);
    this.#held.add(held);
    return new LockHandle(held);
  }

  #heldHere(lockKey: string): HeldLock | undefined {
    for (let frame = this.#frames.getStore(); frame !== undefined; frame = frame.outer) {
      const { held } = frame.handle;
      if (held.keys.lock === lockKey && held.isHeld) return held;
    }
    return undefined;
  }

  async #runUnder<T>(handle: LockHandle, call: ResolvedLockCall, fn: (lock: LockHandle) => Promise<T> | T): Promise<T> {
    let result: T;
    try {
      result = await this.#frames.run({ handle, outer: this.#frames.getStore() }, fn, handle);
    } finally {
      await this.#releaseQuietly(handle);
    }
    const { lost } = handle.held;
    if (lost !== undefined && call.onLost === 'throw') throw lost;
    return result;
  }

  async #releaseQuietly(handle: LockHandle): Promise<void> {
    try {
      await handle.release();
    } catch (error) {
      const code = error instanceof LockUnavailableError ? error.code : 'ERR_LOCK_RELEASE';
      const message = 'A lock was not confirmed to be released; it ends with its lease';
      this.context.telemetry.emit('warning', { pattern: 'Lock', code, message });
    }
  }
}

async function settledWithin(promises: readonly Promise<unknown>[], ms: number): Promise<void> {
  if (promises.length === 0) return;
  await new Promise<void>((resolve) => {
    const timer = startTimer(ms, resolve, { keepAlive: true });
    void Promise.allSettled(promises).then(() => {
      timer.clear();
      resolve();
    });
  });
}
