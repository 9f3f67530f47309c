import type { EngineContext } from '../connection/index.js';
import type { Key } from '../keys/index.js';
import { runScript, sendScript } from '../scripting/index.js';
import { LockUnavailableError } from './lock.errors.js';
import { ReplicaConfirmation } from './replica-confirmation.js';
import {
  runTimed,
  type Answered,
  type AttemptLimits,
  type AttemptReply,
  type CallLimits,
  type OwnershipReply,
  type Resource,
} from './resource.js';
import { acquireScript, extendScript, forceReleaseScript, inspectScript, leaveScript } from './scripts.generated.js';

/** The keys of one lock, in one hash slot. */
export interface LockKeys {
  readonly lock: string;
  readonly fence: string;
  readonly queue: string;
  readonly alive: string;
}

/** How long the last fence of an idle lock is remembered at the least: a server clock may step back by that. */
export const FENCE_TTL = 600_000;

/** Who holds a lock, as its script tells. */
export type Inspected = [token: string, leftMs: number, fence: string, waiting: number] | null;

/** What the locks of one application know in common. */
export interface SingleLockSetup {
  readonly context: EngineContext;
  readonly wakePrefix: string;
  readonly liveness: number;
  /** Replicas that have to confirm a grant; default 0. */
  readonly replicaAck?: number;
}

/** The locks of one Redis. */
export class SingleLocks {
  /** @param pattern second part of the keys: leaders are locks in a key space of their own */
  constructor(
    private readonly setup: SingleLockSetup,
    private readonly pattern: 'lock' | 'leader' = 'lock',
  ) {}

  /** @throws InvalidKeyError */
  keysOf(key: Key): LockKeys {
    const { keys } = this.setup.context;
    const { pattern } = this;
    const lock = keys.main(pattern, key);
    return {
      lock,
      fence: keys.companion(pattern, 'fence', lock),
      queue: keys.companion(pattern, 'queue', lock),
      alive: keys.companion(pattern, 'alive', lock),
    };
  }

  /** @param fair whether it is given to those first who have waited longest */
  resource(keys: LockKeys, fair: boolean): Resource {
    return new SingleLock(this.setup, keys, fair);
  }

  inspect(keys: LockKeys): Promise<Inspected> {
    return runScript(this.setup.context.connection, inspectScript, [keys.lock, keys.fence, keys.queue], []);
  }

  forceRelease(keys: LockKeys): Promise<1 | 0> {
    const { context, wakePrefix } = this.setup;
    const { lock, fence, queue, alive } = keys;
    return runScript(context.connection, forceReleaseScript, [lock, fence, queue, alive], [FENCE_TTL, wakePrefix]);
  }
}

/** One lock in one Redis. */
class SingleLock implements Resource {
  readonly waiterKind = 'l';

  constructor(
    private readonly setup: SingleLockSetup,
    private readonly keys: LockKeys,
    private readonly fair: boolean,
  ) {}

  get key(): string {
    return this.keys.lock;
  }

  /** What replicas have to confirm is asked for. */
  get handsOver(): boolean {
    return !this.setup.replicaAck;
  }

  attempt(token: string, waiter: string, leaseMs: number, limits: AttemptLimits): Promise<Answered<AttemptReply>> {
    return this.setup.replicaAck
      ? this.#attemptConfirmed(this.setup.replicaAck, token, waiter, leaseMs, limits)
      : this.#attempt(token, waiter, leaseMs, limits);
  }

  async #attemptConfirmed(
    replicas: number,
    token: string,
    waiter: string,
    leaseMs: number,
    limits: AttemptLimits,
  ): Promise<Answered<AttemptReply>> {
    const confirmation = new ReplicaConfirmation(replicas);
    const answered = await this.#attempt(token, waiter, leaseMs, limits, confirmation.send);
    if (answered.reply[0] === 0 || !confirmation.isMissing) return answered;
    throw new LockUnavailableError(this.key, confirmation.text);
  }

  #attempt(
    token: string,
    waiter: string,
    leaseMs: number,
    limits: AttemptLimits,
    send?: typeof sendScript,
  ): Promise<Answered<AttemptReply>> {
    const { lock, fence, queue, alive } = this.keys;
    const { context, wakePrefix, liveness } = this.setup;
    const fenceTtl = Math.max(FENCE_TTL, 2 * leaseMs);
    return runTimed(
      context.connection,
      acquireScript,
      [lock, fence, queue, alive],
      [token, leaseMs, fenceTtl, waiter, liveness, this.fair ? 1 : 0, wakePrefix],
      limits,
      send,
    );
  }

  extend(token: string, leaseMs: number, limits: CallLimits): Promise<Answered<OwnershipReply>> {
    return runTimed(this.setup.context.connection, extendScript, [this.keys.lock], [token, leaseMs], limits);
  }

  leave(
    token: string,
    waiter: string,
    { deadline, single = false }: CallLimits & { readonly single?: boolean },
  ): Promise<OwnershipReply> {
    const { lock, fence, queue, alive } = this.keys;
    const { context, wakePrefix } = this.setup;
    const args: [string, string, number, 1 | 0, string] = [token, waiter, FENCE_TTL, this.fair ? 1 : 0, wakePrefix];
    return context.connection.run<OwnershipReply>({
      name: leaveScript.name,
      effect: single ? 'once' : leaveScript.effect,
      key: lock,
      wait: true,
      deadline,
      send: (client) => sendScript(client, leaveScript, [lock, fence, queue, alive], args),
    });
  }
}
