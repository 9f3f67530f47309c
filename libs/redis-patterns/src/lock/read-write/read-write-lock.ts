import { parseOptions } from '../../core/index.js';
import type { EngineContext } from '../../connection/index.js';
import type { Key } from '../../keys/index.js';
import { HeldLease } from '../held-lease.js';
import { ownerOf } from '../identity.js';
import type { Leases } from '../leases.js';
import { LockContext } from '../lock-context.js';
import { LockReentryError, LockTimeoutError } from '../lock.errors.js';
import {
  lockCallSchema,
  lockUsingSchema,
  mergeLockCall,
  type LockCallOptions,
  type LockUsingOptions,
  type ResolvedLockCall,
  type ResolvedLockOptions,
} from '../lock.options.js';
import { ReadHandle, WriteHandle } from './read-write-handles.js';
import { inspectReadWrite, readWriteKeys, Side, type ReadWriteKeys, type SideSetup } from './side.js';

/** One side of a read/write lock; the methods are those of `LockService`, and so are their errors. */
export interface LockSide<Handle> {
  /** @throws LockTimeoutError, LockUnavailableError, LockReentryError (also for a reader that wants to write) */
  acquire(options?: SideCallOptions): Promise<Handle>;
  /** As {@link acquire}, with `null` when it was not free. */
  tryAcquire(options?: SideCallOptions): Promise<Handle | null>;
  /** Runs a function under it, renewed while it runs and released afterwards. */
  using<T>(options: SideUsingOptions, fn: (held: Handle) => Promise<T> | T): Promise<T>;
}

/** Options of one acquisition of a side: it is always first come, first served. */
export type SideCallOptions = Omit<LockCallOptions, 'fair'>;
/** Options of `using` on a side. */
export type SideUsingOptions = Omit<LockUsingOptions, 'fair'>;

/**
 * Many readers or one writer. First come, first served, and readers that stand next to each other come in together: neither
 * readers nor writers can keep the others out for ever.
 */
export interface ReadWriteLock {
  readonly read: LockSide<ReadHandle>;
  readonly write: LockSide<WriteHandle>;
  /**
   * Tells who holds it; `null` when it is free.
   *
   * @throws RedisUnavailableError when Redis could not be asked: that is not the same as free
   */
  inspect(): Promise<ReadWriteLockInfo | null>;
}

/** A read/write lock that is held. */
export interface ReadWriteLockInfo {
  readonly side: 'read' | 'write';
  /** How many hold it: of the write side one. */
  readonly holders: number;
  /** Their processes, as in `LockInfo`: of at most 100 holders, those whose lease ends first. */
  readonly owners: readonly string[];
  /** Of the last writer, while it is remembered; the present one holds it. */
  readonly fence: bigint | undefined;
  /** Milliseconds until the last of the leases ends, if it is not renewed. */
  readonly remainingMs: number;
  readonly waitingReaders: number;
  readonly waitingWriters: number;
}

const callSchema = lockCallSchema.omit({ fair: true });
const usingSchema = lockUsingSchema.omit({ fair: true });

/** The read/write locks of a service. */
export class ReadWriteLocks {
  readonly #callers = new LockContext<ReadHandle | WriteHandle>();
  readonly #setup: SideSetup;

  constructor(
    context: EngineContext,
    private readonly leases: Leases,
    private readonly options: ResolvedLockOptions,
  ) {
    this.#setup = { context, wakePrefix: leases.wakeUps.prefix, liveness: options.liveness };
  }

  /** @throws InvalidKeyError */
  of(key: Key): ReadWriteLock {
    const keys = readWriteKeys(this.#setup.context, key);
    return {
      read: this.#side(keys, 'r', (lease) => new ReadHandle([lease])),
      write: this.#side(keys, 'w', (lease) => new WriteHandle(lease, lease.resource as Side)),
      inspect: () => this.#inspect(keys),
    };
  }

  async #inspect(keys: ReadWriteKeys): Promise<ReadWriteLockInfo | null> {
    const found = await inspectReadWrite(this.#setup.context, keys);
    if (found === null) return null;
    const [holders, remainingMs, fence, waitingReaders, waitingWriters, members] = found;
    return {
      side: members[0]!.startsWith('w') ? 'write' : 'read',
      holders,
      owners: members.map((member) => ownerOf(member.slice(1))),
      fence: fence === '' ? undefined : BigInt(fence),
      remainingMs,
      waitingReaders,
      waitingWriters,
    };
  }

  #side<Handle extends ReadHandle | WriteHandle>(
    keys: ReadWriteKeys,
    kind: 'r' | 'w',
    handleOf: (lease: HeldLease) => Handle,
  ): LockSide<Handle> {
    const name = kind === 'r' ? 'read' : 'write';
    const resolve = (raw: unknown, method: string, autoExtend: boolean): ResolvedLockCall => {
      const schema = method === 'using()' ? usingSchema : callSchema;
      return mergeLockCall(
        parseOptions(schema, raw, `LockService.readWrite().${name}.${method}`),
        this.options,
        autoExtend,
        `LockService.readWrite().${name}.${method.slice(0, -2)}`,
      );
    };
    const take = async (call: ResolvedLockCall): Promise<Handle | LockTimeoutError> => {
      const mine = this.#mine(keys.holders, kind, call);
      if (mine !== undefined) return handleOf(mine);
      const taken = await this.leases.take(new Side(this.#setup, keys, kind), call);
      if (taken instanceof HeldLease) return handleOf(taken);
      return new LockTimeoutError(keys.holders, call.wait, taken.retryAfterMs);
    };
    return {
      acquire: async (options = {}) => held(await take(resolve(options, 'acquire()', false))),
      tryAcquire: async (options = {}) => {
        const taken = await take(resolve(options, 'tryAcquire()', false));
        return taken instanceof LockTimeoutError ? null : taken;
      },
      using: async (options, fn) => {
        const call = resolve(options, 'using()', true);
        const handle = held(await take(call));
        const result = await this.leases.runUnder(handle, () => this.#callers.run(handle, () => fn(handle)));
        if (handle.lost !== undefined && call.onLost === 'throw') throw handle.lost;
        return result;
      },
    };
  }

  /** One more hold of what the calling code holds already: a reader cannot become a writer. */
  #mine(key: string, kind: 'r' | 'w', { reentrant }: ResolvedLockCall): HeldLease | undefined {
    const lease = this.#callers.leaseOf(key);
    if (lease === undefined) return undefined;
    const upgrade = kind === 'w' && !(lease.resource as Side).writes;
    if (upgrade) throw new LockReentryError(key, 'a reader cannot become a writer: take the write side from the start');
    if (!reentrant) throw new LockReentryError(key);
    lease.assertHeld();
    return lease.retain();
  }
}

function held<Handle>(taken: Handle | LockTimeoutError): Handle {
  if (taken instanceof LockTimeoutError) throw taken;
  return taken;
}
