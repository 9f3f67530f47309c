import { randomUUID } from 'node:crypto';
import { RedisUnavailableError, type EngineContext, type Operation } from '../../connection/index.js';
import { backoffDelay, InvalidOptionsError, parseOptions, sleep } from '../../core/index.js';
import { runScript } from '../../scripting/index.js';
import type { PatternTracer } from '../../telemetry/index.js';
import { LockUnavailableError } from '../lock.errors.js';
import { runOnceTimeScript } from '../scripts.generated.js';
import {
  resolveRunOnce,
  runOnceSchema,
  type ResolvedRunOnce,
  type RunOnceOptions,
  type RunSlot,
} from './run-once.options.js';

/** How long a claim is tried, milliseconds: a schedule has time, and a failover takes some seconds. */
const PATIENCE = 5000;

/**
 * Decides which of many processes runs something that is due in all of them. What has been claimed is not given back: a run
 * that fails or crashes is not repeated before the next slot.
 *
 * @example
 * ```ts
 * if (await this.runOnce.claim('invoices', { per: (now) => now.toISOString().slice(0, 10) })) await this.sendInvoices();
 * ```
 */
export class RunOnceService {
  readonly #closing = new AbortController();

  readonly #tracer: PatternTracer;

  constructor(private readonly context: EngineContext) {
    this.#tracer = context.telemetry.tracer('lock', context.connection.name);
  }

  /**
   * Claims the current run of a name.
   *
   * @returns `true` for exactly one caller of each slot, `false` for the others
   * @throws LockUnavailableError when Redis did not answer for 5 s; the run may be taken then, by nobody
   * @throws InvalidKeyError, InvalidOptionsError
   */
  async claim(name: string, options: RunOnceOptions): Promise<boolean> {
    const run = resolveRunOnce(parseOptions(runOnceSchema, options, 'RunOnceService.claim()'));
    return this.claimRun(name, run, 'RunOnceService.claim()');
  }

  /**
   * {@link claim} with options that are parsed already.
   *
   * @internal
   */
  claimRun(name: string, run: ResolvedRunOnce, where: string): Promise<boolean> {
    if (!this.#tracer.active) return this.#claimRun(name, run, where);
    return this.#tracer.run({ operation: 'run-once', name }, () => this.#claimRun(name, run, where), {
      ended: (claimed, operation) => (operation.outcome = claimed ? 'claimed' : 'skipped'),
      failed: (error) => (error instanceof LockUnavailableError ? 'unavailable' : undefined),
    });
  }

  async #claimRun(name: string, { slot, ttl }: ResolvedRunOnce, where: string): Promise<boolean> {
    const base = this.keyOf(name);
    const until = performance.now() + PATIENCE;
    const key = slot === undefined ? base : this.keyOf(name, nameOf(await this.#now(base, until), slot, where));
    const token = randomUUID();
    // nil: it is ours now; our own token: it has been since an attempt whose reply was lost.
    const holder = await this.#patiently(key, until, {
      name: 'lock.run-once',
      effect: 'token',
      key,
      send: (client) => client.set(key, token, 'PX', ttl, 'NX', 'GET'),
    });
    return holder === null || holder === token;
  }

  /**
   * Key of a run in Redis. The name is its hash tag, so that one server decides about all slots of it, by one clock.
   *
   * @throws InvalidKeyError
   */
  keyOf(name: string, slot?: string | number): string {
    const { keys } = this.context;
    // An empty name by mistake would be one run for everything.
    keys.main('runonce', [name]);
    return slot === undefined ? keys.family('runonce', name) : keys.family('runonce', name, slot);
  }

  /** Ends what is still being tried. */
  async close(): Promise<void> {
    this.#closing.abort(new Error('the application is shutting down'));
  }

  async #now(key: string, until: number): Promise<number> {
    const { connection } = this.context;
    return this.#asking(key, until, (limits) => runScript(connection, runOnceTimeScript, [key], [], limits));
  }

  #patiently<T>(key: string, until: number, operation: Operation<T>): Promise<T> {
    return this.#asking(key, until, (limits) => this.context.connection.run({ ...operation, ...limits }));
  }

  /** Asks until there is an answer: it finds its own earlier success, so that it may be repeated. */
  async #asking<T>(key: string, until: number, ask: (limits: Limits) => Promise<T>): Promise<T> {
    const { signal } = this.#closing;
    for (let attempt = 1; ; attempt++) {
      try {
        const deadline = Math.max(this.context.connection.commandTimeout, 1);
        return await ask({ deadline, signal, wait: true });
      } catch (error) {
        if (!(error instanceof RedisUnavailableError)) throw error;
        const pause = backoffDelay(attempt, { base: 50, max: 500 });
        if (signal.aborted || error.code === 'ERR_REDIS_CLOSED' || performance.now() + pause >= until) {
          throw new LockUnavailableError(
            key,
            'Redis could not be asked; nobody knows whether this run is taken',
            error,
          );
        }
        await sleep(pause, signal).catch(() => undefined);
      }
    }
  }
}

type Limits = Required<Pick<Operation<never>, 'deadline' | 'wait'>> & { readonly signal: AbortSignal };

function nameOf(now: number, slot: RunSlot, where: string): string | number {
  const name: unknown = slot(new Date(now));
  if ((typeof name === 'string' && name !== '') || Number.isFinite(name)) return name as string | number;
  const message = `gave ${name === '' ? "''" : String(name)} for this run; it must give a non-empty text or a number`;
  throw new InvalidOptionsError(where, [{ path: 'per', message }]);
}
