import type { EngineContext } from '../../connection/index.js';
import type { Key } from '../../keys/index.js';
import { runScript } from '../../scripting/index.js';
import { runTimed, type Answered, type AttemptLimits, type AttemptReply, type CallLimits } from '../resource.js';
import type { OwnershipReply, Resource } from '../resource.js';
import {
  semaphoreAcquireScript,
  semaphoreExtendScript,
  semaphoreInspectScript,
  semaphoreLeaveScript,
} from '../scripts.generated.js';

/** The keys of one semaphore, in one hash slot. */
export interface SemaphoreKeys {
  readonly leases: string;
  readonly queue: string;
  readonly alive: string;
}

/** @throws InvalidKeyError */
export function semaphoreKeys({ keys }: EngineContext, key: Key): SemaphoreKeys {
  const leases = keys.main('semaphore', key);
  return {
    leases,
    queue: keys.companion('semaphore', 'queue', leases),
    alive: keys.companion('semaphore', 'alive', leases),
  };
}

/** Some permits of a semaphore. */
export class Permits implements Resource {
  /** The scripts read from the id of a waiter how many it wants. */
  readonly waiterKind: string;
  readonly permits: number;

  constructor(
    private readonly context: EngineContext,
    private readonly keys: SemaphoreKeys,
    private readonly rules: {
      readonly permits: number;
      readonly limit: number;
      readonly liveness: number;
    },
    private readonly wakePrefix: string,
  ) {
    this.permits = rules.permits;
    this.waiterKind = String(rules.permits);
  }

  get key(): string {
    return this.keys.leases;
  }

  attempt(token: string, waiter: string, leaseMs: number, limits: AttemptLimits): Promise<Answered<AttemptReply>> {
    const { leases, queue, alive } = this.keys;
    const { permits, limit, liveness } = this.rules;
    return runTimed(
      this.context.connection,
      semaphoreAcquireScript,
      [leases, queue, alive],
      [token, leaseMs, permits, limit, waiter, liveness, this.wakePrefix],
      limits,
    );
  }

  extend(token: string, leaseMs: number, limits: CallLimits): Promise<Answered<OwnershipReply>> {
    const args: [string, number, number] = [token, leaseMs, this.rules.permits];
    return runTimed(this.context.connection, semaphoreExtendScript, [this.keys.leases], args, limits);
  }

  leave(
    token: string,
    waiter: string,
    { deadline, single }: CallLimits & { single?: boolean },
  ): Promise<OwnershipReply> {
    const { leases, queue, alive } = this.keys;
    const { permits, limit } = this.rules;
    return runScript(
      this.context.connection,
      semaphoreLeaveScript,
      [leases, queue, alive],
      [token, permits, limit, waiter, this.wakePrefix],
      { deadline, wait: true, effect: single === true ? 'once' : semaphoreLeaveScript.effect },
    );
  }
}

/** Permits in use, leases and waiters of a semaphore. */
export function inspectSemaphore({ connection }: EngineContext, { leases, queue }: SemaphoreKeys): Promise<number[]> {
  return runScript(connection, semaphoreInspectScript, [leases, queue], []);
}
