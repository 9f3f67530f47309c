import type { EngineContext } from '../connection/index.js';
import { plainName, type GaugeSample, type Hold, type PatternTracer, type Telemetry } from '../telemetry/index.js';
import type { Busy } from './grant.js';
import type { HeldLease } from './held-lease.js';
import type { HeldTimes } from './held-times.js';
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

  lost({ name, age }: HeldLease, reason: LockLostReason): void {
    this.#telemetry.emit('lock-lost', {
      connection: this.#connection,
      kind: this.kind,
      name: plainName(name),
      reason,
      heldMs: Math.round(age),
    });
  }

  /** Lets others see what is held now. */
  offerHeld(held: ReadonlySet<HeldLease>, times: HeldTimes): void {
    const { kind } = this;
    const labels = { connection: this.#connection, kind };
    this.#telemetry.gauges.add('locks_held', () => [{ labels, value: held.size }]);
    // Who leads holds that for as long as it can.
    if (kind !== 'leader') this.#telemetry.holds.add(() => [...held].map((lease) => holdOf(kind, lease, times)));
    if (kind === 'semaphore') this.#telemetry.gauges.add('semaphore_permits', () => this.#permits(held));
  }

  #permits(held: ReadonlySet<HeldLease>): GaugeSample[] {
    const sums = new Map<string, number>();
    for (const { name, resource } of held) {
      const asker = plainName(name);
      sums.set(asker, (sums.get(asker) ?? 0) + (resource.permits ?? 1));
    }
    return [...sums].map(([name, value]) => ({ labels: { connection: this.#connection, name }, value }));
  }
}

function holdOf(kind: string, { name, age, maxHold }: HeldLease, times: HeldTimes): Hold {
  return { kind, name: plainName(name), heldMs: age, maxHoldMs: maxHold, usualMs: times.median(name) };
}
