import type { EngineContext } from '../../connection/index.js';
import type { Key } from '../../keys/index.js';
import { runScript } from '../../scripting/index.js';
import { runTimed, type Answered, type AttemptLimits, type AttemptReply, type CallLimits } from '../resource.js';
import type { OwnershipReply, Resource } from '../resource.js';
import {
  readWriteDowngradeScript,
  readWriteExtendScript,
  readWriteInspectScript,
  readWriteLeaveScript,
  readWriteReadScript,
  readWriteWriteScript,
} from '../scripts.generated.js';
import { FENCE_TTL } from '../single-lock.js';

/** The keys of one read/write lock, in one hash slot. */
export interface ReadWriteKeys {
  readonly holders: string;
  readonly readers: string;
  readonly writers: string;
  readonly alive: string;
  readonly fence: string;
}

/** @throws InvalidKeyError */
export function readWriteKeys({ keys }: EngineContext, key: Key): ReadWriteKeys {
  const holders = keys.main('rwlock', key);
  const companion = (role: string): string => keys.companion('rwlock', role, holders);
  return {
    holders,
    readers: companion('readers'),
    writers: companion('writers'),
    alive: companion('alive'),
    fence: companion('fence'),
  };
}

/** @throws RedisUnavailableError */
export function inspectReadWrite({ connection }: EngineContext, keys: ReadWriteKeys) {
  const { holders, readers, writers, fence } = keys;
  return runScript(connection, readWriteInspectScript, [holders, readers, writers, fence], []);
}

/** What all sides of the locks of a service have in common. */
export interface SideSetup {
  readonly context: EngineContext;
  readonly wakePrefix: string;
  /** Milliseconds. */
  readonly liveness: number;
}

/** The read or the write side of a lock, for one acquisition: a writer may become a reader. */
export class Side implements Resource {
  #leaseMs = 0;
  #writes: boolean;

  constructor(
    private readonly setup: SideSetup,
    private readonly keys: ReadWriteKeys,
    readonly waiterKind: 'r' | 'w',
  ) {
    this.#writes = waiterKind === 'w';
  }

  get key(): string {
    return this.keys.holders;
  }

  /** Whether it is the write side, still. */
  get writes(): boolean {
    return this.#writes;
  }

  attempt(token: string, waiter: string, leaseMs: number, limits: AttemptLimits): Promise<Answered<AttemptReply>> {
    const { holders, readers, writers, alive, fence } = this.keys;
    const { context, wakePrefix, liveness } = this.setup;
    this.#leaseMs = leaseMs;
    if (!this.#writes) {
      const args: [string, number, string, number, string] = [token, leaseMs, waiter, liveness, wakePrefix];
      return runTimed(context.connection, readWriteReadScript, [holders, readers, writers, alive], args, limits);
    }
    return runTimed(
      context.connection,
      readWriteWriteScript,
      [holders, readers, writers, alive, fence],
      [token, leaseMs, Math.max(FENCE_TTL, 2 * leaseMs), waiter, liveness, wakePrefix],
      limits,
    );
  }

  extend(token: string, leaseMs: number, limits: CallLimits): Promise<Answered<OwnershipReply>> {
    return runTimed(this.setup.context.connection, readWriteExtendScript, [this.key], [token, leaseMs], limits);
  }

  leave(
    token: string,
    waiter: string,
    { deadline, single }: CallLimits & { readonly single?: boolean },
  ): Promise<OwnershipReply> {
    const effect = single === true ? 'once' : readWriteLeaveScript.effect;
    const options = { deadline, effect, wait: true } as const;
    return runScript(
      this.setup.context.connection,
      readWriteLeaveScript,
      this.#queues,
      [token, waiter, this.#wake],
      options,
    );
  }

  /** From the call on it counts as the read side, whatever the answer: it may have been done. */
  downgrade(token: string): Promise<OwnershipReply> {
    this.#writes = false;
    const args: [string, number, string] = [token, this.#leaseMs, this.#wake];
    return runScript(this.setup.context.connection, readWriteDowngradeScript, this.#queues, args, { wait: true });
  }

  get #queues(): [string, string, string, string] {
    const { holders, readers, writers, alive } = this.keys;
    return [holders, readers, writers, alive];
  }

  get #wake(): string {
    return this.setup.wakePrefix;
  }
}
