import { z } from 'zod';
import { durationSchema, InvalidOptionsError, parseOptions, type Duration, type OptionIssue } from '../core/index.js';
import type { LeaseCall } from './leases.js';

/** Options of the locks of an application, and defaults of every call. */
export interface LockOptions {
  /** Name of the connection. Default `'default'`. Locks belong on a Redis that evicts nothing (`noeviction`). */
  connection?: string;
  /** How long a lock lives without a renewal, 100 ms to 24 days. Default 30 s. */
  lease?: Duration;
  /** How long to wait for a busy lock, up to 24 days. Default 0: one try. */
  wait?: Duration;
  /** Longest time that a lock is held, renewals included; never less than its lease. Default 1 h. */
  maxHold?: Duration;
  /** Whether a held lock is renewed until it is released. Default: `true` in `using` and `@WithLock`, `false` in `acquire`. */
  autoExtend?: boolean;
  /**
   * What `using` does when the function succeeded but the lock was lost meanwhile. Default `'throw'`: {@link LockLostError}.
   * `'ignore'`: the result of the function.
   */
  onLost?: 'throw' | 'ignore';
  /**
   * Whether a free lock goes to who has waited longest; then nobody overtakes, not even a caller that does not wait. Default
   * `true`. `false`: who comes first after a release has it.
   */
  fair?: boolean;
  /** How long a waiter that was killed delays those behind it, 500 ms to 20 s. Default 4 s. */
  liveness?: Duration;
  /**
   * How many replicas have to confirm a lock before it counts as taken: it then survives a failover to one of them. Default 0.
   * A lock that they do not confirm within 100 ms is given back: `LockUnavailableError`. All calls of the connection wait
   * behind that, so give such locks a connection of their own.
   */
  replicaAck?: number;
  /** How long a shutdown waits for functions that run under a lock. Default 10 s. */
  shutdownTimeout?: Duration;
  /**
   * `'redlock'`: `LockService` and `@WithLock` take each lock on most of `nodes`, so that the loss of a minority of them loses
   * no lock. Without a queue: who waits asks again and again. Default `'single'`: the Redis of `connection`.
   */
  mode?: 'single' | 'redlock';
  /** Only for Redlock: names of the connections to at least three independent servers, better an odd number. */
  nodes?: string[];
  /** Only for Redlock: how long a node may take to answer. Default 100 ms. */
  nodeTimeout?: Duration;
  /**
   * Only for Redlock: whether a server that has run for less than `lease` does not vote, as it may have forgotten a lock.
   * Default `true`; `false` is safe when all nodes have `appendonly yes` and `appendfsync always`. Then no call may have a
   * longer `lease` than the service.
   */
  restartGuard?: boolean;
}

/** Options of one acquisition; what is left out comes from {@link LockOptions}. */
export interface LockCallOptions extends Pick<LockOptions, 'lease' | 'wait' | 'maxHold' | 'autoExtend' | 'fair'> {
  /**
   * Whether code that holds the lock already, in this async context, shares it. Default `false`: {@link LockReentryError}.
   */
  reentrant?: boolean;
  /** Ends the waiting; the call rejects with `signal.reason`. */
  signal?: AbortSignal;
}

/** Options of `using`. */
export interface LockUsingOptions extends LockCallOptions, Pick<LockOptions, 'onLost'> {}

/** Parsed {@link LockOptions}; times are milliseconds. */
export interface ResolvedLockOptions {
  readonly connection?: string | undefined;
  readonly lease: number;
  readonly wait: number;
  readonly maxHold: number;
  readonly autoExtend?: boolean | undefined;
  readonly onLost: 'throw' | 'ignore';
  readonly fair: boolean;
  readonly liveness: number;
  readonly replicaAck: number;
  readonly shutdownTimeout: number;
  readonly redlock?: ResolvedRedlock | undefined;
}

/** Parsed options of Redlock; times are milliseconds. */
export interface ResolvedRedlock {
  readonly nodes: readonly string[];
  readonly nodeTimeout: number;
  readonly restartGuard: boolean;
}

/** Everything that one acquisition needs to know; times are milliseconds. */
export interface ResolvedLockCall extends LeaseCall {
  readonly fair: boolean;
  readonly onLost: 'throw' | 'ignore';
  readonly reentrant: boolean;
}

// A timer of more than 2^31 ms would fire at once.
const LONGEST = 24 * 86_400_000;
const lease = () => durationSchema({ min: 100, max: LONGEST });
const time = () => durationSchema({ max: LONGEST });
const onLost = () => z.enum(['throw', 'ignore'], "must be 'throw' or 'ignore'");

const schema = z.strictObject({
  connection: z.string().optional(),
  lease: lease().prefault('30s'),
  wait: time().prefault(0),
  maxHold: time().prefault('1h'),
  autoExtend: z.boolean().optional(),
  onLost: onLost().default('throw'),
  fair: z.boolean().optional(),
  liveness: durationSchema({ min: 500, max: 20_000 }).prefault('4s'),
  replicaAck: z.int().min(0).max(100).default(0),
  shutdownTimeout: time().prefault('10s'),
  mode: z.enum(['single', 'redlock'], "must be 'single' or 'redlock'").default('single'),
  nodes: z.array(z.string()).optional(),
  nodeTimeout: durationSchema({ min: 1, max: 10_000 }).optional(),
  restartGuard: z.boolean().optional(),
});

const callShape = {
  lease: lease().optional(),
  wait: time().optional(),
  maxHold: time().optional(),
  autoExtend: z.boolean().optional(),
  fair: z.boolean().optional(),
  reentrant: z.boolean().optional(),
  signal: z.custom<AbortSignal>((value) => value instanceof AbortSignal, 'must be an AbortSignal').optional(),
};

/** Schema of {@link LockCallOptions}. */
export const lockCallSchema = z.strictObject(callShape);
/** Schema of {@link LockUsingOptions}. */
export const lockUsingSchema = z.strictObject({ ...callShape, onLost: onLost().optional() });

/** Schema of a lease, for `extend()`. */
export const leaseSchema = z.strictObject({ lease: lease() });

/** @throws InvalidOptionsError */
export function resolveLockOptions(raw: unknown, where: string): ResolvedLockOptions {
  const { mode, nodes, nodeTimeout, restartGuard, ...options } = parseOptions(schema, raw ?? {}, where, 'lock');
  const given = { nodes, nodeTimeout, restartGuard };
  if (mode === 'single') {
    refuse(where, redlockOnly(given));
    return { ...options, fair: options.fair ?? true };
  }
  refuse(where, redlockIssues(nodes ?? [], options.fair));
  if (options.replicaAck > 0) {
    refuse(where, [
      { path: 'lock.replicaAck', message: "is only for mode: 'single'; the nodes of Redlock have no replicas" },
    ]);
  }
  const redlock = { nodes: nodes!, nodeTimeout: nodeTimeout ?? 100, restartGuard: restartGuard ?? true };
  // Semaphores, leaders and @RunOnce have one Redis in any case.
  return { ...options, connection: options.connection ?? nodes![0], fair: false, redlock };
}

function refuse(where: string, issues: readonly OptionIssue[]): void {
  if (issues.length > 0) throw new InvalidOptionsError(where, issues);
}

function redlockOnly(given: Record<string, unknown>): OptionIssue[] {
  return Object.keys(given)
    .filter((name) => given[name] !== undefined)
    .map((name) => ({ path: `lock.${name}`, message: "is only for mode: 'redlock'" }));
}

function redlockIssues(nodes: readonly string[], fair: boolean | undefined): OptionIssue[] {
  const issues: OptionIssue[] = [];
  const issue = (name: string, message: string) => issues.push({ path: `lock.${name}`, message });
  if (nodes.length < 3) issue('nodes', "must name at least three connections for mode: 'redlock'");
  if (new Set(nodes).size < nodes.length) issue('nodes', 'names a connection twice; give independent servers');
  if (fair === true) issue('fair', "cannot be promised in mode: 'redlock', which has no queue; leave it out");
  return issues;
}

/** A parsed call, with the defaults of the service filled in. */
export function mergeLockCall(
  call: z.output<typeof lockUsingSchema>,
  defaults: ResolvedLockOptions,
  autoExtend: boolean,
  /** Who asks, for telemetry: `Class.method`. */
  name: string,
): ResolvedLockCall {
  if (defaults.redlock !== undefined) refuse('a lock', redlockIssues(defaults.redlock.nodes, call.fair));
  const leaseMs = call.lease ?? defaults.lease;
  return {
    name,
    lease: leaseMs,
    wait: call.wait ?? defaults.wait,
    maxHold: Math.max(leaseMs, call.maxHold ?? defaults.maxHold),
    autoExtend: call.autoExtend ?? defaults.autoExtend ?? autoExtend,
    onLost: call.onLost ?? defaults.onLost,
    fair: call.fair ?? defaults.fair,
    liveness: defaults.liveness,
    reentrant: call.reentrant ?? false,
    signal: call.signal,
  };
}
