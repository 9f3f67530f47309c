import type { EngineContext } from '../connection/index.js';
import { RedisUnavailableError } from '../connection/index.js';
import { onAbort, parseOptions, sleep } from '../core/index.js';
import type { Key } from '../keys/index.js';
import { Acquisition, type Busy, type Grant } from './acquisition.js';
import { HeldLock, type LockOwner } from './held-lock.js';
import { LockCommands, ownerOf, type LockKeys } from './lock-commands.js';
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
export interface LockInspection {
  /** Key of the lock in Redis. */
  readonly key: string;
  /** Host, process id and a random number of the process that holds it. */
  readonly owner: string;
  /** Last fence of this lock, if it is still known. */
  readonly fence: bigint | undefined;
  /** Milliseconds until its lease ends, unless it is renewed; `Infinity` for a key without an end. */
  readonly remainingMs: number;
}

/**
 * Locks across processes: at most one holder of a key at a time, on a Redis that loses no data. The holder knows when it
 * has lost the lock (`signal`), and each grant has a higher `fence`. See `docs/lock.md` for the guarantee.
 *
 * @example
 * ```ts
 * await locks.using(['stock', productId], { wait: '2s' }, async (lock) => {
 *   await warehouse.take(productId, { fence: lock.fence, signal: lock.signal });
 * });
 * ```
 */
export class LockService {
  readonly #commands: LockCommands;
  readonly #reaper: Reaper;
  readonly #owner: LockOwner;
  readonly #context = new LockContext();
  readonly #held = new Set<HeldLock>();
  readonly #waiting = new Set<AbortController>();
  /** Functions that run under a lock, or are about to. */
  readonly #running = new Set<Promise<unknown>>();
  #closing: Promise<void> | undefined;

  constructor(
    private readonly context: EngineContext,
    private readonly options: ResolvedLockOptions,
  ) {
    this.#commands = new LockCommands(context);
    this.#reaper = new Reaper(this.#commands);
    this.#owner = { commands: this.#commands, reaper: this.#reaper, ended: (lock) => this.#held.delete(lock) };
  }

  /**
   * Takes a lock. It is not renewed unless `autoExtend` is set, so that a handle that is forgotten ends with its lease.
   *
   * @throws LockTimeoutError when it is held by others for all of `wait`
   * @throws LockUnavailableError when Redis gave no answer for `wait`, at least 1 s
   * @throws LockReentryError when the running code holds it already, by `using`
   * @throws InvalidKeyError, InvalidOptionsError, `signal.reason`
   *
   * @example
   * ```ts
   * await using lock = await locks.acquire('nightly-report', { lease: '5m' });
   * ```
   */
  async acquire(key: Key, options?: LockCallOptions): Promise<LockHandle> {
    const call = this.#call(options, 'LockService.acquire', false);
    return unlessBusy(await this.#take(this.#commands.keysOf(key), call));
  }

  /**
   * As {@link acquire}, but `null` when others hold it.
   *
   * @throws LockUnavailableError, LockReentryError, InvalidKeyError, InvalidOptionsError, `signal.reason`
   */
  async tryAcquire(key: Key, options?: LockCallOptions): Promise<LockHandle | null> {
    const call = this.#call(options, 'LockService.tryAcquire', false);
    const taken = await this.#take(this.#commands.keysOf(key), call);
    return taken instanceof LockTimeoutError ? null : taken;
  }

  /**
   * Runs a function under a lock that is renewed meanwhile. The function should heed `lock.signal`; it is never abandoned.
   *
   * Its error passes unchanged. A release that fails is reported by telemetry and changes nothing.
   *
   * @throws LockLostError when the function succeeded but the lock was lost meanwhile (unless `onLost: 'ignore'`)
   * @throws LockTimeoutError, LockUnavailableError, LockReentryError, InvalidKeyError, InvalidOptionsError,
   * `signal.reason`; the function was not called then
   */
  using<T>(key: Key, options: LockUsingOptions, fn: (lock: LockHandle) => T | Promise<T>): Promise<T> {
    const running = this.#using(key, options, fn);
    this.#running.add(running);
    const done = (): unknown => this.#running.delete(running);
    running.then(done, done);
    return running;
  }

  /** The lock under which the running code was called by {@link using} or `@WithLock`; the innermost, if there are several. */
  current(): LockHandle | undefined {
    return this.#context.current();
  }

  /**
   * Who holds a lock; `null` when nobody does. An answer about the past: to do something about it, take the lock.
   *
   * @throws LockUnavailableError when Redis does not answer
   */
  async inspect(key: Key): Promise<LockInspection | null> {
    const keys = this.#commands.keysOf(key);
    const reply = await this.#commands.inspect(keys).catch((error: unknown) => {
      if (!(error instanceof RedisUnavailableError)) throw error;
      throw new LockUnavailableError(keys.lock, 'Redis could not be asked; nobody knows who holds it', error);
    });
    if (reply === null) return null;
    const [token, leftMs, fence] = reply;
    return {
      key: keys.lock,
      owner: ownerOf(token),
      fence: fence === '' ? undefined : BigInt(fence),
      remainingMs: leftMs < 0 ? Infinity : leftMs,
    };
  }

  /**
   * Refuses new calls, ends the waiting ones, waits up to `shutdownTimeout` for functions that run under a lock (which is
   * renewed meanwhile), and releases what is held. Idempotent.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    for (const waiter of this.#waiting) waiter.abort(CLOSED);
    const timeout = new AbortController();
    await Promise.race([
      Promise.allSettled(this.#running),
      sleep(this.options.shutdownTimeout, timeout.signal).catch(() => undefined),
    ]);
    timeout.abort();
    await Promise.all([...this.#held].map((lock) => lock.shutDown().catch((error: unknown) => this.#report(error))));
    await this.#reaper.close();
  }

  async #using<T>(key: Key, options: LockUsingOptions, fn: (lock: LockHandle) => T | Promise<T>): Promise<T> {
    const call = this.#call(options, 'LockService.using', true);
    const handle = unlessBusy(await this.#take(this.#commands.keysOf(key), call));
    const lost = (): void => {
      if (call.onLost === 'throw') handle.assertNotLost();
    };
    let result: T;
    try {
      result = await this.#context.run(handle, () => fn(handle));
    } catch (error) {
      await this.#releaseQuietly(handle);
      throw error;
    }
    // Twice: the clock knows now, and Redis' answer may know more.
    try {
      lost();
    } finally {
      await this.#releaseQuietly(handle);
    }
    lost();
    return result;
  }

  async #take(keys: LockKeys, call: ResolvedLockCall): Promise<LockHandle | LockTimeoutError> {
    const outer = this.#context.current(keys.lock);
    if (outer !== undefined) {
      if (!call.reentrant) throw new LockReentryError(keys.lock);
      return outer.share();
    }
    const outcome = await this.#obtain(keys, call);
    if (!('token' in outcome)) return new LockTimeoutError(keys.lock, call.wait, outcome.retryAfterMs);
    const held = new HeldLock(this.#owner, keys, outcome, call);
    if (this.#closing !== undefined) {
      await held.release().catch((error: unknown) => this.#report(error));
      throw closed(keys);
    }
    this.#held.add(held);
    return new LockHandle(held);
  }

  async #obtain(keys: LockKeys, { lease, wait, signal }: ResolvedLockCall): Promise<Grant | Busy> {
    if (this.#closing !== undefined) throw closed(keys);
    if (wait === 0) return new Acquisition(this.#commands, this.#reaper, { keys, lease, wait, signal }).run();
    const waiter = new AbortController();
    const unlink = onAbort(signal, (reason) => waiter.abort(reason));
    this.#waiting.add(waiter);
    try {
      return await new Acquisition(this.#commands, this.#reaper, { keys, lease, wait, signal: waiter.signal }).run();
    } catch (error) {
      throw error === CLOSED ? closed(keys) : error;
    } finally {
      this.#waiting.delete(waiter);
      unlink();
    }
  }

  #call(raw: LockUsingOptions | undefined, where: string, autoExtend: boolean): ResolvedLockCall {
    const schema = autoExtend ? lockUsingSchema : lockCallSchema;
    return mergeLockCall(raw === undefined ? {} : parseOptions(schema, raw, where), this.options, autoExtend);
  }

  async #releaseQuietly(handle: LockHandle): Promise<void> {
    await handle.release().catch((error: unknown) => this.#report(error));
  }

  /** For what no caller can be told. Without the key, which is nobody's business there. */
  #report(error: unknown): void {
    const message = 'a lock could not be released; it ends with its lease';
    this.context.telemetry.emit('error', { pattern: 'Lock', code: 'ERR_LOCK_UNAVAILABLE', message, error });
  }
}

/** Why a waiter was aborted by {@link LockService.close}. */
const CLOSED = Symbol('closed');

function closed(keys: LockKeys): LockUnavailableError {
  return new LockUnavailableError(keys.lock, 'the application is shutting down, so no lock is taken any more');
}

function unlessBusy(taken: LockHandle | LockTimeoutError): LockHandle {
  if (taken instanceof LockTimeoutError) throw taken;
  return taken;
}
