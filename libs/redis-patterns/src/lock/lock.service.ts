import { parseOptions, startTimer } from '../core/index.js';
import type { EngineContext } from '../connection/index.js';
import type { Key } from '../keys/index.js';
import { Acquisitions, shuttingDown } from './acquisitions.js';
import { HeldLock, type LockOwner } from './held-lock.js';
import { LockCommands, ownerOf } from './lock-commands.js';
import { LockContext } from './lock-context.js';
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
  /** Milliseconds until its lease ends, if it is not renewed; `Infinity` for a key without an end. */
  readonly remainingMs: number;
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
  readonly #acquisitions: Acquisitions;
  readonly #callers = new LockContext();
  readonly #held = new Set<HeldLock>();
  readonly #running = new Set<Promise<unknown>>();
  readonly #owner: LockOwner;

  constructor(
    private readonly context: EngineContext,
    readonly options: ResolvedLockOptions,
  ) {
    this.#commands = new LockCommands(context);
    this.#reaper = new Reaper(this.#commands);
    this.#acquisitions = new Acquisitions(this.#commands, this.#reaper);
    this.#owner = {
      commands: this.#commands,
      reaper: this.#reaper,
      ended: (lock) => void this.#held.delete(lock),
    };
  }

  /**
   * Takes a lock. The caller releases it; it is not renewed unless `autoExtend` says so, so that a forgotten handle dies.
   *
   * @throws LockTimeoutError when somebody else held it for all of `wait`
   * @throws LockUnavailableError when Redis could not be asked
   * @throws LockReentryError when the caller's async context holds it already
   * @throws InvalidKeyError, InvalidOptionsError, `signal.reason`
   *
   * @example
   * ```ts
   * await using lock = await locks.acquire('nightly-report', { lease: '5m' });
   * ```
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

  /**
   * The innermost lock that the calling code runs under. Work that was started under a lock and outlives it does not run
   * under it any more.
   */
  current(): LockHandle | undefined {
    return this.#callers.current();
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
    return {
      owner: ownerOf(token),
      fence: fence === '' ? undefined : BigInt(fence),
      remainingMs: leftMs < 0 ? Infinity : leftMs,
    };
  }

  /** Refuses new locks, ends waiting, lets running functions end within `shutdownTimeout`, and releases what is left. */
  async close(): Promise<void> {
    await this.#acquisitions.close();
    await settledWithin([...this.#running], this.options.shutdownTimeout);
    await Promise.all([...this.#held].map((lock) => this.#quietly(lock.shutDown())));
    // Functions that were told to stop settle now, and what they leave behind is cleaned up.
    await this.#reaper.close();
  }

  /**
   * Key of a lock in Redis.
   *
   * @throws InvalidKeyError
   */
  keyOf(key: Key): string {
    return this.#commands.keysOf(key).lock;
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
    const mine = this.#callers.current(keys.lock);
    if (mine !== undefined) {
      if (!call.reentrant) throw new LockReentryError(keys.lock);
      return mine.share();
    }
    const outcome = await this.#acquisitions.obtain(keys, call);
    if (!('token' in outcome)) return new LockTimeoutError(keys.lock, call.wait, outcome.retryAfterMs);
    const held = new HeldLock(this.#owner, keys, outcome, call);
    this.#held.add(held);
    // Granted in the moment of the shutdown, which may have looked for held locks already.
    if (this.#acquisitions.isClosing) {
      await this.#quietly(held.release());
      throw shuttingDown(keys);
    }
    return new LockHandle(held);
  }

  async #runUnder<T>(handle: LockHandle, call: ResolvedLockCall, fn: (lock: LockHandle) => Promise<T> | T): Promise<T> {
    let result: T;
    try {
      result = await this.#callers.run(handle, () => fn(handle));
    } finally {
      await this.#quietly(handle.release());
    }
    const { lost } = handle.held;
    if (lost !== undefined && call.onLost === 'throw') throw lost;
    return result;
  }

  /** A release whose failure changes nothing for anybody: it is reported, and the lock ends with its lease. */
  async #quietly(release: Promise<unknown>): Promise<void> {
    try {
      await release;
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
