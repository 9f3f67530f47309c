import type { EngineContext } from '../connection/index.js';
import type { PatternTracer, Telemetry } from '../telemetry/index.js';
import type { Busy } from './acquisition.js';
import type { HeldLease } from './held-lease.js';
import type { LeaseCall } from './leases.js';
import { LockUnavailableError, type LockLostReason } from './lock.errors.js';

/** What is leased. */
export type LeaseKind = 'lock' | 'semaphore' | 'leader';

/** Something that was taken and has to be given back. */
export interface Taken {
  readonly leases: readonly HeldLease[];
  readonly lost: Error | undefined;
  release(): Promise<unknown>;
}

/** Tells what becomes of leases: who got one, who did not, how long it was held, and that it was lost. */
export class LeaseTracer {
  readonly #tracer: PatternTracer;
  readonly #telemetry: Telemetry;
  readonly #connection: string;

  constructor(
    { telemetry, connection }: EngineContext,
    private readonly kind: LeaseKind,
  ) {
    this.#telemetry = telemetry;
    this.#connection = connection.name;
    this.#tracer = telemetry.tracer('lock', connection.name);
  }

  /** Candidates wait all the time: of them only the leader is told. */
  acquire(call: LeaseCall, take: () => Promise<HeldLease | Busy>): Promise<HeldLease | Busy> {
    if (this.kind === 'leader' || !this.#tracer.active) return take();
    return this.#tracer.run({ operation: 'acquire', name: call.name }, take, {
      ended: (outcome, operation) => {
        operation.source = this.kind;
        operation.outcome = 'release' in outcome ? 'acquired' : 'busy';
      },
      failed: (error, operation) => {
        operation.source = this.kind;
        return error instanceof LockUnavailableError ? 'unavailable' : undefined;
      },
    });
  }

  held<T>(taken: Taken, run: () => Promise<T>): Promise<T> {
    if (!this.#tracer.active) return run();
    const tell = (operation: { source?: string }): string => {
      operation.source = this.kind;
      return taken.lost === undefined ? 'released' : 'lost';
    };
    return this.#tracer.run({ operation: 'held', name: taken.leases[0]!.name }, run, {
      ended: (_, operation) => (operation.outcome = tell(operation)),
      failed: (_, operation) => {
        const outcome = tell(operation);
        return outcome === 'lost' ? outcome : 'failed';
      },
    });
  }

  lost({ name, grant }: HeldLease, reason: LockLostReason): void {
    const heldMs = Math.round(performance.now() - grant.sentAt);
    this.#telemetry.emit('lock-lost', { connection: this.#connection, kind: this.kind, name, reason, heldMs });
  }

  offerHeld(count: () => number): void {
    const labels = { connection: this.#connection, kind: this.kind };
    this.#telemetry.gauges.add('locks_held', () => [{ labels, value: count() }]);
  }
}
