import type { EngineContext } from '../../connection/index.js';
import { runScript } from '../../scripting/index.js';
import { runTimed, type Answered, type AttemptLimits, type CallLimits, type Resource } from '../resource.js';
import type { AttemptReply, OwnershipReply } from '../resource.js';
import { redlockAcquireScript, redlockFenceScript } from '../scripts.generated.js';
import { FENCE_TTL, SingleLocks, type LockKeys } from '../single-lock.js';

/** The server says in this way that it has been started too lately to vote. */
const ABSTAINS = -3;

/** A node that does not vote. */
export class AbstentionError extends Error {
  constructor(connection: string) {
    super(`the server of '${connection}' has run for less than a lease, and may have forgotten a lock (restartGuard)`);
  }
}

/** One lock on one of the nodes: as a single lock, only that nobody queues, and a node may abstain. */
export class RedlockNode implements Resource {
  readonly waiterKind = undefined;
  readonly #lock: Resource;

  constructor(
    private readonly context: EngineContext,
    private readonly keys: LockKeys,
    /** How long a server must have run before it votes, milliseconds; 0: it always does. */
    private readonly guardMs: number,
  ) {
    this.#lock = new SingleLocks({ context, wakePrefix: '', liveness: 0 }).resource(keys, false);
  }

  get key(): string {
    return this.keys.lock;
  }

  /** @throws AbstentionError */
  async attempt(
    token: string,
    _waiter: string,
    leaseMs: number,
    limits: AttemptLimits,
  ): Promise<Answered<AttemptReply>> {
    const { lock, fence } = this.keys;
    const guardMs = this.guardMs === 0 ? 0 : Math.max(this.guardMs, leaseMs);
    const args: [string, number, number, number] = [token, leaseMs, fenceTtl(leaseMs), guardMs];
    const answer = await runTimed(this.context.connection, redlockAcquireScript, [lock, fence], args, limits);
    if (answer.reply[1] === ABSTAINS) throw new AbstentionError(this.context.connection.name);
    return answer;
  }

  /** Remembers a fence that a quorum has granted. */
  remember(fence: string, leaseMs: number, { deadline, signal }: CallLimits): Promise<1 | 0> {
    const options = { deadline, signal, wait: true } as const;
    return runScript(
      this.context.connection,
      redlockFenceScript,
      [this.keys.fence],
      [fence, fenceTtl(leaseMs)],
      options,
    );
  }

  extend(token: string, leaseMs: number, limits: CallLimits): Promise<Answered<OwnershipReply>> {
    return this.#lock.extend(token, leaseMs, limits);
  }

  leave(token: string, waiter: string, limits: CallLimits & { readonly single?: boolean }): Promise<OwnershipReply> {
    return this.#lock.leave(token, waiter, limits);
  }
}

function fenceTtl(leaseMs: number): number {
  return Math.max(FENCE_TTL, 2 * leaseMs);
}
