import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import type { EngineContext } from '../connection/index.js';
import { InvalidOptionsError, parseOptions, sleep, type ErrorCode, type OptionIssue } from '../core/index.js';
import { InvalidKeyError, keyTemplate, missingInKey, type Key } from '../keys/index.js';
import type { PatternTracer, TracedOperation } from '../telemetry/index.js';
import { Admission } from './admission.js';
import type { Execution, IdempotencyContext } from './execution.js';
import { Finisher } from './finisher.js';
import { IdempotencyCommands, type Claim } from './idempotency-commands.js';
import { IdempotencyRefusedError, IdempotencyUnkeptError } from './idempotency.errors.js';
import {
  idempotencyRunSchema,
  mergeIdempotencyCall,
  type IdempotencyRunOptions,
  type ResolvedIdempotencyCall,
  type ResolvedIdempotencyOptions,
} from './idempotency.options.js';
import { checkSize, valueTask, type Task } from './task.js';

/** Stands for a result that was not kept. No result has this text. */
const UNKEPT = '';

/**
 * Runs a function at most once for a key, and gives everybody who asks later its result. What it promises, and what no store
 * can, is in docs/idempotency.md.
 *
 * @example
 * ```ts
 * const receipt = await this.idempotency.run(['payment', orderId], hash, async ({ fence, signal }) => {
 *   return this.bank.pay(orderId, { fence, signal });
 * });
 * ```
 */
export class IdempotencyService {
  readonly #commands: IdempotencyCommands;
  readonly #finisher = new Finisher();
  readonly #admission: Admission;
  readonly #contexts = new AsyncLocalStorage<Execution>();
  readonly #running = new Map<Execution, Promise<unknown>>();
  readonly #warned = new Set<string>();
  readonly #tracer: PatternTracer;

  constructor(
    private readonly context: EngineContext,
    /** @internal */
    readonly options: ResolvedIdempotencyOptions,
  ) {
    this.#tracer = context.telemetry.tracer('idempotency', context.connection.name);
    this.#commands = new IdempotencyCommands(context);
    this.#admission = new Admission(this.#commands, this.#finisher, () => {
      const message = "Redis could not be asked, so a call runs unprotected (onStoreError: 'open'). This is said once.";
      this.warnOnce('ERR_IDEMPOTENCY_UNAVAILABLE', message);
    });
  }

  /**
   * Runs the function, unless the key was used before: then it resolves with the result of that time, a copy that equals it
   * (Dates, Maps and the like included). A function that throws frees its key.
   *
   * @param key who asks and what for: `['payment', orderId]`
   * @param fingerprint a text that tells payloads apart; a key that was used for another one is refused
   * @throws what the function throws, unchanged
   * @throws IdempotencyBusyError while another call with the key runs; with `onBusy: 'wait'` after `maxWait`
   * @throws IdempotencyMismatchError when the key was used with another fingerprint
   * @throws IdempotencyUnkeptError when it succeeded before, but its result could not be kept
   * @throws IdempotencyUnavailableError when Redis could not be asked, unless `onStoreError` is `'open'`
   * @throws InvalidKeyError, InvalidOptionsError, `signal.reason`
   */
  async run<T>(
    key: Key,
    fingerprint: string,
    fn: (context: IdempotencyContext) => Promise<T> | T,
    options: IdempotencyRunOptions = {},
  ): Promise<T> {
    checkRun(key, fingerprint, fn);
    const call = mergeIdempotencyCall(
      parseOptions(idempotencyRunSchema, options, 'IdempotencyService.run()'),
      this.options,
    );
    return this.perform(key, fingerprint, call, valueTask(fn));
  }

  /**
   * The run that the calling code is part of, also in handlers and methods with `@Idempotent`; `undefined` when it has ended,
   * or there is none.
   */
  current(): IdempotencyContext | undefined {
    const execution = this.#contexts.getStore();
    return execution?.ended === false ? execution : undefined;
  }

  /** Work of the run that the calling code is part of. @internal */
  watch(work: Promise<unknown>): void {
    this.#contexts.getStore()?.watch(work);
  }

  /**
   * {@link run}, with options that are parsed already and results of any form.
   *
   * @internal
   */
  perform<T>(key: Key, fingerprint: string, call: ResolvedIdempotencyCall, task: Task<T>): Promise<T> {
    if (!this.#tracer.active) return this.#perform(key, fingerprint, call, task);
    const facts = { operation: 'run', name: task.where ?? 'IdempotencyService.run', keyTemplate: keyTemplate(key) };
    return this.#tracer.run(facts, (operation) => this.#perform(key, fingerprint, call, task, operation), {
      failed: outcomeOfError,
    });
  }

  async #perform<T>(
    key: Key,
    fingerprint: string,
    call: ResolvedIdempotencyCall,
    task: Task<T>,
    operation?: TracedOperation,
  ): Promise<T> {
    const claim: Claim = { record: this.#commands.recordOf(key), fingerprint, token: randomUUID() };
    const begun = await this.#admission.begin(claim, call);
    if (begun === UNKEPT) throw new IdempotencyUnkeptError();
    if (typeof begun === 'string') {
      if (operation !== undefined) operation.outcome = 'replayed';
      return task.replay(begun);
    }
    if (operation !== undefined) operation.outcome = 'executed';
    const running = this.#execute(begun, call, task);
    this.#running.set(begun, running);
    try {
      return await running;
    } finally {
      if (this.#running.get(begun) === running) this.#running.delete(begun);
    }
  }

  /** Ends the waiting, lets calls that run end within `shutdownTimeout`, tells the others to stop, and finishes what Redis has not been told yet. */
  async close(): Promise<void> {
    this.#admission.close();
    const ended = new AbortController();
    const patience = sleep(this.options.shutdownTimeout, ended.signal).catch(() => undefined);
    await Promise.race([Promise.allSettled(this.#running.values()), patience]);
    ended.abort();
    for (const execution of this.#running.keys()) execution.lose('shutdown');
    await this.#finisher.close();
  }

  /** What lives in this process because of idempotency: calls that wait, that run, and that Redis has not been told the end of. */
  stats(): { readonly waiting: number; readonly running: number; readonly finishing: number } {
    return { waiting: this.#admission.size, running: this.#running.size, finishing: this.#finisher.size };
  }

  async #execute<T>(execution: Execution, call: ResolvedIdempotencyCall, task: Task<T>): Promise<T> {
    let value: T;
    try {
      value = await this.#contexts.run(execution, () => task.run(execution));
    } catch (error) {
      // What failed may run again, also when its error cannot be kept.
      const text = this.#textOf(task, () => task.keepError?.(error), call.maxBody, 'rerun');
      if (text === undefined && execution.isWorking) this.#outlive(execution, call);
      else await this.#finish(execution, call, text);
      throw error;
    }
    const text = this.#textOf(task, () => task.keep(value), call.maxBody, call.onUnkept);
    await this.#finish(execution, call, text);
    return value;
  }

  /** Somebody gave up first, such as an interceptor: what still runs keeps the key, and is not done again if it succeeds. */
  #outlive(execution: Execution, call: ResolvedIdempotencyCall): void {
    const ended = execution.workEnds().then(async (succeeded) => {
      await this.#finish(execution, call, succeeded && call.onUnkept === 'refuse' ? UNKEPT : undefined);
      this.#running.delete(execution);
    });
    this.#running.set(execution, ended);
  }

  /** Never fails: what was done is not undone by a result that cannot be kept. */
  #textOf(
    { where = 'IdempotencyService.run()' }: Pick<Task<unknown>, 'where'>,
    make: () => string | undefined,
    maxBody: number,
    onUnkept: 'refuse' | 'rerun',
  ): string | undefined {
    try {
      return checkSize(make(), maxBody);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      const message = `${where}: a result could not be kept: ${why}. This is said once for it.`;
      this.warnOnce('ERR_IDEMPOTENCY_UNKEPT', message, `unkept ${where}`);
      return onUnkept === 'refuse' ? UNKEPT : undefined;
    }
  }

  /** Never fails either: what Redis does not do at once is tried on in the background. */
  async #finish(
    execution: Execution,
    { ttl, lease }: ResolvedIdempotencyCall,
    text: string | undefined,
  ): Promise<void> {
    execution.end();
    const { claim } = execution;
    const tell = async (wait: boolean): Promise<void> => {
      if (text === undefined) await this.#commands.free(claim, wait);
      else if ((await this.#commands.complete(claim, ttl, text, wait)) === 0) this.#reportTaken();
    };
    const atOnce = async (): Promise<boolean> =>
      tell(false).then(
        () => true,
        () => false,
      );
    // Without a record Redis was away a moment ago.
    if (execution.hasRecord && (await atOnce())) return;
    this.#finisher.start(
      () => tell(true),
      lease,
      () => this.#reportUnfinished(),
    );
  }

  #reportTaken(): void {
    const message = "A call ended after another run had taken its key; its result was not kept. Give a longer 'lease'.";
    this.context.telemetry.emit('warning', { pattern: 'Idempotency', code: 'ERR_IDEMPOTENCY_LOST', message });
  }

  #reportUnfinished(): void {
    const message = 'Redis was not told that a call has ended: when its lease is over, a repeated call runs again.';
    this.context.telemetry.emit('error', { pattern: 'Idempotency', code: 'ERR_IDEMPOTENCY_UNAVAILABLE', message });
  }

  /** Tells the application's log, once for each topic. @internal */
  warnOnce(code: ErrorCode, message: string, topic: string = code): void {
    if (this.#warned.has(topic)) return;
    this.#warned.add(topic);
    this.context.telemetry.emit('warning', { pattern: 'Idempotency', code, message });
  }
}

/** What was refused has a word of its own; else the function has failed. */
function outcomeOfError(error: unknown, { outcome }: TracedOperation): string {
  if (outcome !== undefined || !(error instanceof IdempotencyRefusedError)) return 'failed';
  return error.code.slice('ERR_IDEMPOTENCY_'.length).toLowerCase();
}

/** What plain JavaScript can give, and what would be the same work for everybody. */
function checkRun(key: unknown, fingerprint: unknown, fn: unknown): void {
  const lack = missingInKey(key);
  if (lack !== undefined)
    throw new InvalidKeyError(`the key ${lack}; give a text, or an array with something in each part`);
  const issues: OptionIssue[] = [];
  if (typeof fingerprint !== 'string' || fingerprint === '') {
    issues.push({
      path: 'fingerprint',
      message: 'must be a text that tells payloads apart, such as a digest or JSON of it',
    });
  }
  if (typeof fn !== 'function') issues.push({ path: 'fn', message: 'must be a function' });
  if (issues.length > 0) throw new InvalidOptionsError('IdempotencyService.run()', issues);
}
