import { backoffDelay } from '../../core/backoff.js';
import { parseDuration } from '../../core/duration.js';
import type { PatternTracer } from '../../telemetry/index.js';
import { StreamContext, type ContextActions, type Decision } from '../stream-context.js';
import {
  HandlerTimeoutError,
  RetryMessageError,
  StreamDrainedError,
  UnrecoverableMessageError,
} from '../stream.errors.js';
import { traceBatch, traceHandler } from '../stream-tracer.js';
import type { Held } from './held.js';
import type { HeldEntry } from './held-entry.js';
import type { Moves } from './moves.js';
import type { Prepared } from './preparation.js';
import type { Route } from './routes.js';
import { warn, type ReaderScope } from './scope.js';
import type { Acks } from './settle.js';

interface Parts {
  readonly scope: ReaderScope;
  readonly held: Held;
  readonly acks: Acks;
  readonly moves: Moves;
  readonly actions: ContextActions;
}

/** Calls handlers, and decides what becomes of their messages. */
export class Runner {
  readonly #tracer: PatternTracer;

  constructor(private readonly parts: Parts) {
    const { telemetry, connection } = parts.scope.context;
    this.#tracer = telemetry.tracer('stream', connection.name);
  }

  /** Runs one message; never rejects for what the handler does. */
  async run(prepared: Prepared): Promise<void> {
    const { entry, route } = prepared;
    const decision = undecided();
    const context = this.#context(prepared, decision);
    this.#begin(entry, route);
    try {
      const call = (): unknown => this.#call(prepared, context, decision);
      if (!this.#tracer.active) await call();
      else await traceHandler(this.#tracer, { scope: this.parts.scope, prepared, decision }, call);
      if (decision.work !== undefined) await decision.work;
    } catch (error) {
      await settledWork(decision);
      return this.#threw(entry, route, decision, error);
    }
    this.#resolved(entry, route, decision);
  }

  /** Runs messages of one route together. */
  async runBatch(batch: readonly Prepared[]): Promise<void> {
    const { route } = batch[0]!;
    const decisions = batch.map(undecided);
    const members = batch.map((prepared, index) => this.#context(prepared, decisions[index]!));
    const entries = batch.map(({ entry }) => entry);
    const bodies = batch.map(({ body }) => body);
    for (const entry of entries) this.#begin(entry, route);
    try {
      const context = StreamContext.ofBatch(members);
      const { timeout } = route.options;
      const call = (): unknown =>
        timeout === undefined
          ? route.handler(bodies, context)
          : this.#limited(timeout, route, bodies, context, entries, decisions);
      if (!this.#tracer.active) await call();
      else await traceBatch(this.#tracer, { scope: this.parts.scope, batch, decisions }, call);
    } catch (error) {
      await Promise.all(decisions.map((decision) => settledWork(decision)));
      entries.forEach((entry, index) => this.#threw(entry, route, decisions[index]!, error, batch.length > 1));
      return;
    }
    const failures = await Promise.all(decisions.map((decision) => settledWork(decision)));
    entries.forEach((entry, index) => {
      const failure = failures[index];
      if (failure === undefined) this.#resolved(entry, route, decisions[index]!);
      else this.#threw(entry, route, decisions[index]!, failure);
    });
  }

  #call({ entry, route, body }: Prepared, context: StreamContext, decision: Decision): unknown {
    const { timeout } = route.options;
    return timeout === undefined
      ? route.handler(body, context)
      : this.#limited(timeout, route, body, context, [entry], [decision]);
  }

  #context(prepared: Prepared, decision: Decision): StreamContext {
    return new StreamContext(prepared, decision, this.parts);
  }

  #begin(entry: HeldEntry, { options }: Route): void {
    entry.startedAt = performance.now();
    entry.slowAt = entry.startedAt + options.slowAfter;
  }

  #limited(
    timeout: number,
    { handler, name }: Route,
    body: unknown,
    context: StreamContext,
    entries: readonly HeldEntry[],
    decisions: readonly Decision[],
  ): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const expire = (): void => {
        const error = new HandlerTimeoutError(name, timeout);
        // The old run cannot be ended; what it still says of its messages no longer counts.
        for (const decision of decisions) decision.settled ??= 'timeout';
        for (const entry of entries) entry.abort(error);
        reject(error);
      };
      let timer = setTimeout(expire, timeout);
      for (const entry of entries) {
        entry.moveTimeout = (ms) => {
          clearTimeout(timer);
          timer = setTimeout(expire, ms);
        };
      }
      const end = (): void => {
        clearTimeout(timer);
        for (const entry of entries) entry.moveTimeout = undefined;
      };
      Promise.resolve()
        .then(() => handler(body, context))
        .finally(end)
        .then(resolve, reject);
    });
  }

  #resolved(entry: HeldEntry, route: Route, { settled, retryDelay }: Decision): void {
    const { scope, held, acks } = this.parts;
    if (settled === undefined) {
      // Where there is an order: should it have come back to this consumer, it is another run that says when its key may go on.
      if (entry.lost && scope.options.ordering === 'key') held.remove(entry);
      else acks.add(entry);
    } else if (settled === 'retry') this.#failed(entry, route, undefined, retryDelay);
  }

  /** @param ofBatch whether the error may be the fault of another message of the batch */
  #threw(entry: HeldEntry, route: Route, decision: Decision, error: unknown, ofBatch = false): void {
    const { scope, moves } = this.parts;
    const { settled, retryDelay } = decision;
    if (settled !== undefined && settled !== 'retry' && settled !== 'timeout') {
      if (ofBatch) return;
      const text = `${route.name} failed after it had settled entry ${entry.originalId} of ${scope.label}`;
      return warn(scope, 'ERR_STREAM_HANDLER', text);
    }
    if (error instanceof UnrecoverableMessageError && !entry.lost && settled !== 'retry') {
      return moves.bury(entry, 'unrecoverable', error);
    }
    const asked = error instanceof RetryMessageError ? error.delay : undefined;
    this.#failed(entry, route, error, retryDelay ?? (asked === undefined ? undefined : parseDuration(asked)));
  }

  #failed(entry: HeldEntry, route: Route, error: unknown, delay: number | undefined): void {
    const { scope, held, moves } = this.parts;
    if (entry.lost) return held.remove(entry);
    // Cut off by the end of the application: no fault of the message, which is handed over.
    if (entry.abortReason instanceof StreamDrainedError) {
      entry.state = 'buffered';
      return;
    }
    const attempt = entry.failures + 1;
    const { attempts, backoff } = route.options.retry;
    if (attempt >= attempts) return moves.bury(entry, 'max-attempts', error);
    const pause = delay ?? backoffDelay(attempt, backoff);
    const text = error instanceof Error ? `: ${error.message}` : '';
    warn(
      scope,
      'ERR_STREAM_HANDLER',
      `${route.name}: attempt ${attempt} of ${attempts} at entry ${entry.originalId} of ${scope.label} failed${text}; ` +
        `next in ${Math.round(pause)} ms`,
    );
    moves.retry(entry, { delay: pause, attempt });
  }
}

/** Waits for what the handler did not wait for. @returns why it failed */
async function settledWork({ work }: Decision): Promise<unknown> {
  return work?.then(
    () => undefined,
    (error: unknown) => error,
  );
}

function undecided(): Decision {
  return { settled: undefined, retryDelay: undefined, work: undefined };
}
