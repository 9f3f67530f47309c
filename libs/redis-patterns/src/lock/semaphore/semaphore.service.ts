import type { EngineContext } from '../../connection/index.js';
import type { Key } from '../../keys/index.js';
import { HeldLease } from '../held-lease.js';
import { Leases } from '../leases.js';
import { LockTimeoutError } from '../lock.errors.js';
import { mergeLockCall, type ResolvedLockCall, type ResolvedLockOptions } from '../lock.options.js';
import { PermitHandle } from './permit-handle.js';
import { inspectSemaphore, Permits, semaphoreKeys } from './permits.js';
import { parseSemaphoreCall, type SemaphoreCallOptions, type SemaphoreUsingOptions } from './semaphore.options.js';

/** How a semaphore is used now. */
export interface SemaphoreInfo {
  /** Permits in use. */
  readonly used: number;
  /** Acquisitions that hold them. */
  readonly holders: number;
  /** Callers that wait. */
  readonly waiting: number;
}

/**
 * Semaphores across processes: at most `limit` permits of a key are out at a time. Each acquisition has a lease of its own by
 * the clock of the server, so that a process that dies gives its permits back when its own lease ends. Who waits gets them
 * first come, first served: a caller that wants many is not overtaken by those that want one.
 *
 * @example
 * ```ts
 * await this.semaphores.using('pdf-renderer', { limit: 4, wait: '30s' }, (permit) => render(page, permit.signal));
 * ```
 */
export class SemaphoreService {
  readonly #leases: Leases;

  constructor(
    private readonly context: EngineContext,
    private readonly options: ResolvedLockOptions,
  ) {
    this.#leases = new Leases(context, 'semaphore');
  }

  /**
   * Takes permits. The caller releases them; they are not renewed unless `autoExtend` says so.
   *
   * @throws LockTimeoutError when they were not free for all of `wait`
   * @throws LockUnavailableError when Redis could not be asked
   * @throws InvalidKeyError, InvalidOptionsError, `signal.reason`
   */
  async acquire(key: Key, options: SemaphoreCallOptions): Promise<PermitHandle> {
    const taken = await this.#take(key, options, 'acquire()', false);
    if (taken instanceof LockTimeoutError) throw taken;
    return taken.handle;
  }

  /** As {@link acquire}, with `null` when they were not free. */
  async tryAcquire(key: Key, options: SemaphoreCallOptions): Promise<PermitHandle | null> {
    const taken = await this.#take(key, options, 'tryAcquire()', false);
    return taken instanceof LockTimeoutError ? null : taken.handle;
  }

  /**
   * Runs a function with permits, renewed while it runs and given back afterwards. The result or the error of the function is
   * never replaced by an error of the release.
   *
   * @throws what the function throws, unchanged
   * @throws LockTimeoutError, LockUnavailableError as {@link acquire}
   * @throws LockLostError when the function succeeded, but its permits were lost meanwhile (see `onLost`)
   */
  async using<T>(key: Key, options: SemaphoreUsingOptions, fn: (permit: PermitHandle) => Promise<T> | T): Promise<T> {
    const taken = await this.#take(key, options, 'using()', true);
    if (taken instanceof LockTimeoutError) throw taken;
    const { handle, call } = taken;
    const result = await this.#leases.runUnder(handle, () => fn(handle));
    const { lost } = handle;
    if (lost !== undefined && call.onLost === 'throw') throw lost;
    return result;
  }

  /**
   * Tells how many permits are in use.
   *
   * @throws RedisUnavailableError when Redis could not be asked
   */
  async inspect(key: Key): Promise<SemaphoreInfo> {
    const [used = 0, holders = 0, waiting = 0] = await inspectSemaphore(this.context, semaphoreKeys(this.context, key));
    return { used, holders, waiting };
  }

  /** Refuses new permits, ends waiting, lets running functions end within `shutdownTimeout`, and gives back what is left. */
  close(): Promise<void> {
    return this.#leases.close(this.options.shutdownTimeout);
  }

  /** What lives in this process because of semaphores. */
  stats(): ReturnType<Leases['stats']> {
    return this.#leases.stats();
  }

  async #take(
    key: Key,
    raw: SemaphoreUsingOptions,
    method: string,
    autoExtend: boolean,
  ): Promise<{ handle: PermitHandle; call: ResolvedLockCall } | LockTimeoutError> {
    const { limit, permits, ...given } = parseSemaphoreCall(raw, method);
    const call = mergeLockCall(given, this.options, autoExtend, `SemaphoreService.${method.slice(0, -2)}`);
    const { liveness } = this.options;
    const rules = { permits, limit, liveness };
    const resource = new Permits(this.context, semaphoreKeys(this.context, key), rules, this.#leases.wakeUps.prefix);
    const taken = await this.#leases.take(resource, { ...call, liveness });
    if (!(taken instanceof HeldLease)) return new LockTimeoutError(resource.key, call.wait, taken.retryAfterMs);
    return { handle: new PermitHandle(taken, permits), call };
  }
}
