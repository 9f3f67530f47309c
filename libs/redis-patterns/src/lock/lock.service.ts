import { InvalidOptionsError, parseOptions } from '../core/index.js';
import type { EngineContext, RedisConnection } from '../connection/index.js';
import type { Key } from '../keys/index.js';
import { ownerOf } from './identity.js';
import { Leases } from './leases.js';
import { LockContext } from './lock-context.js';
import { LockHandle } from './lock-handle.js';
import { LockTimeoutError } from './lock.errors.js';
import {
  lockCallSchema,
  lockUsingSchema,
  mergeLockCall,
  type LockCallOptions,
  type LockUsingOptions,
  type ResolvedLockCall,
  type ResolvedLockOptions,
} from './lock.options.js';
import { LockTaker } from './lock-taker.js';
import { ReadWriteLocks, type ReadWriteLock } from './read-write/read-write-lock.js';
import { Redlocks } from './redlock/redlocks.js';
import { ParsedCalls } from './parsed-calls.js';
import { SingleLocks } from './single-lock.js';

/** Who holds a lock. */
export interface LockInfo {
  /** Host, process id and a random number of the holder's process. */
  readonly owner: string;
  readonly fence: bigint | undefined;
  /** Milliseconds until its lease ends, if it is not renewed; `Infinity` for a key without an end. */
  readonly remainingMs: number;
  /** How many wait for it. */
  readonly waiting: number;
}

type Task<T> = (lock: LockHandle) => Promise<T> | T;

/**
 * Locks across processes: one holder at a time while its lease lasts, first come first served, fenced, renewed, and given up
 * in time when Redis does not answer. What a lock on Redis cannot promise, and how `fence` closes that, is in docs/locks.md.
 *
 * @example
 * ```ts
 * await this.locks.using(['stock', productId], { wait: '2s' }, async (lock) => {
 *   await this.stock.take(productId, { fence: lock.fence, signal: lock.signal });
 * });
 * ```
 */
export class LockService {
  readonly #leases: Leases;
  readonly #locks: SingleLocks | Redlocks;
  readonly #callers = new LockContext<LockHandle>();
  readonly #taker: LockTaker;
  readonly #calls = new ParsedCalls<ResolvedLockCall>();
  readonly #readWrite: ReadWriteLocks;

  constructor(
    context: EngineContext,
    readonly options: ResolvedLockOptions,
    /** Those of `options.redlock.nodes`. */
    nodes: readonly RedisConnection[] = [],
  ) {
    this.#leases = new Leases(context);
    const { lease, liveness, redlock, replicaAck } = options;
    if (redlock === undefined) {
      this.#locks = new SingleLocks({ context, wakePrefix: this.#leases.wakeUps.prefix, liveness, replicaAck });
    } else {
      const { nodeTimeout, restartGuard } = redlock;
      const { reaper } = this.#leases;
      this.#locks = new Redlocks({ context, nodes, reaper, nodeTimeout, guardMs: restartGuard ? lease : 0 });
    }
    this.#taker = new LockTaker(this.#leases, this.#locks, this.#callers);
    this.#readWrite = new ReadWriteLocks(context, this.#leases, options);
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
    return held(await this.#taker.take([key], this.#resolve('acquire()', lockCallSchema, options, false)));
  }

  /** As {@link acquire}, with `null` for a lock that somebody else holds. */
  async tryAcquire(key: Key, options: LockCallOptions = {}): Promise<LockHandle | null> {
    const taken = await this.#taker.take([key], this.#resolve('tryAcquire()', lockCallSchema, options, false));
    return taken instanceof LockTimeoutError ? null : taken;
  }

  /**
   * Takes several locks, all or none, without the danger of a deadlock: whoever waits, waits in the order of the keys. In a
   * Cluster they may be in different slots. One of them lost is all of them lost.
   *
   * @param keys at least one; the same one twice counts once
   * @throws as {@link acquire}; also LockLostError when one was lost while others were waited for
   *
   * @example
   * ```ts
   * await using both = await locks.acquireMany([['account', from], ['account', to]], { wait: '2s' });
   * ```
   */
  async acquireMany(keys: readonly Key[], options: LockCallOptions = {}): Promise<LockHandle> {
    return held(await this.#taker.take(keys, this.#resolve('acquireMany()', lockCallSchema, options, false)));
  }

  /**
   * Runs a function under a lock, renewed while it runs and released afterwards. The result or the error of the function is
   * never replaced by an error of the release.
   *
   * @throws what the function throws, unchanged
   * @throws LockTimeoutError, LockUnavailableError, LockReentryError as {@link acquire}
   * @throws LockLostError when the function succeeded, but the lock was lost meanwhile (see `onLost`)
   */
  async using<T>(key: Key, options: LockUsingOptions, fn: Task<T>): Promise<T> {
    return this.run(key, this.#resolve('using()', lockUsingSchema, options, true), fn, (busy) => Promise.reject(busy));
  }

  /** As {@link using}, under several locks: see {@link acquireMany}. */
  async usingMany<T>(keys: readonly Key[], options: LockUsingOptions, fn: Task<T>): Promise<T> {
    const call = this.#resolve('usingMany()', lockUsingSchema, options, true);
    return this.#runUnder(held(await this.#taker.take(keys, call)), call, fn);
  }

  /**
   * {@link using}, with options that are parsed already and an answer for a busy lock.
   *
   * @internal
   */
  async run<T>(
    key: Key,
    call: ResolvedLockCall,
    fn: Task<T>,
    onBusy: (busy: LockTimeoutError) => Promise<T> | T,
  ): Promise<T> {
    const taken = await this.#taker.take([key], call);
    return taken instanceof LockTimeoutError ? onBusy(taken) : this.#runUnder(taken, call, fn);
  }

  /**
   * A read/write lock: many readers or one writer. Its keys are other ones than those of the locks.
   *
   * @throws InvalidKeyError; InvalidOptionsError with Redlock, which has no such locks
   *
   * @example
   * ```ts
   * await locks.readWrite(['catalog', id]).read.using({ wait: '2s' }, () => this.list(id));
   * ```
   */
  readWrite(key: Key): ReadWriteLock {
    if (this.options.redlock === undefined) return this.#readWrite.of(key);
    const message = "has no read/write locks; use mode: 'single' for them";
    throw new InvalidOptionsError('LockService.readWrite()', [{ path: 'lock.mode', message }]);
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
    const found = await this.#locks.inspect(this.#locks.keysOf(key));
    if (found === null) return null;
    const [token, leftMs, fence, waiting] = found;
    return {
      owner: ownerOf(token),
      fence: fence === '' ? undefined : BigInt(fence),
      remainingMs: leftMs < 0 ? Infinity : leftMs,
      waiting,
    };
  }

  /**
   * Takes a lock from whoever holds it: for people who know that its holder is gone. A holder that lives learns it by its next
   * renewal (`stolen` or `expired`); until then two may run, and only `fence` keeps them apart.
   *
   * @returns whether it was held
   * @throws RedisUnavailableError
   */
  async forceRelease(key: Key): Promise<boolean> {
    return (await this.#locks.forceRelease(this.#locks.keysOf(key))) === 1;
  }

  /**
   * Looks at the nodes of Redlock; those that do not answer are left out.
   *
   * @internal
   * @throws InvalidOptionsError when two of them are one server
   */
  async checkServers(where: string): Promise<void> {
    if (this.#locks instanceof Redlocks) await this.#locks.check(where);
  }

  /** Refuses new locks, ends waiting, lets running functions end within `shutdownTimeout`, and releases what is left. */
  close(): Promise<void> {
    return this.#leases.close(this.options.shutdownTimeout);
  }

  /**
   * Key of a lock in Redis.
   *
   * @throws InvalidKeyError
   */
  keyOf(key: Key): string {
    return this.#locks.keysOf(key).lock;
  }

  /** What lives in this process because of locks: none of it outlives its lock. */
  stats(): { readonly held: number; readonly running: number; readonly cleaning: number } {
    return this.#leases.stats();
  }

  #resolve(
    method: string,
    schema: typeof lockUsingSchema | typeof lockCallSchema,
    options: LockUsingOptions,
    autoExtend: boolean,
  ): ResolvedLockCall {
    return this.#calls.of(method, options, () =>
      mergeLockCall(
        parseOptions(schema, options, `LockService.${method}`),
        this.options,
        autoExtend,
        `LockService.${method.slice(0, -2)}`,
      ),
    );
  }

  async #runUnder<T>(handle: LockHandle, call: ResolvedLockCall, fn: Task<T>): Promise<T> {
    const result = await this.#leases.runUnder(handle, () => this.#callers.run(handle, () => fn(handle)));
    const { lost } = handle;
    if (lost !== undefined && call.onLost === 'throw') throw lost;
    return result;
  }
}

function held(taken: LockHandle | LockTimeoutError): LockHandle {
  if (taken instanceof LockTimeoutError) throw taken;
  return taken;
}
