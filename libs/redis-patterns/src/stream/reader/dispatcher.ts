import { backoffDelay } from '../../core/backoff.js';
import { parseDuration } from '../../core/duration.js';
import { startTimer } from '../../core/timer.js';
import { runScript } from '../../scripting/index.js';
import { decodeMessage, readFields, type RawMessage } from '../message.js';
import { failScript, startScript } from '../scripts.generated.js';
import { StreamContext, type ContextActions, type Decision } from '../stream-context.js';
import { traceHandler } from '../stream-tracer.js';
import { RetryMessageError, UnrecoverableMessageError } from '../stream.errors.js';
import type { Graveyard } from './graveyard.js';
import type { Held, HeldEntry } from './held.js';
import type { Route, Routes } from './routes.js';
import { report, warn, type ReaderScope } from './scope.js';
import type { Acks } from './settle.js';
import { isSuspect, Waiting } from './waiting.js';

/** Pause before an entry is looked at again whose start could not be counted. */
const START_RETRY = { base: 100, max: 5000 };
/** Attempts for types that nobody knows yet, with `onUnknownType: 'retry'`: for ever, in growing pauses. */
const UNKNOWN_TYPE_BACKOFF = { base: 1000, factor: 2, max: 60_000 };

interface Parts {
  readonly scope: ReaderScope;
  readonly held: Held;
  readonly routes: Routes;
  readonly acks: Acks;
  readonly graveyard: Graveyard;
  readonly actions: ContextActions;
}

/** Runs handlers, never more than `concurrency`, and decides what becomes of their messages. */
export class Dispatcher {
  readonly #waiting = new Waiting();
  readonly #jobs = new Set<Promise<void>>();
  readonly #idleWaiters = new Set<() => void>();
  #running = 0;
  #stopped = false;

  constructor(private readonly parts: Parts) {}

  accept(entries: readonly HeldEntry[]): void {
    for (const entry of entries) this.#waiting.add(entry);
    this.#pump();
  }

  /** Starts nothing new from now on; what waits for its next attempt goes on waiting elsewhere. */
  stop(): void {
    this.#stopped = true;
    for (const entry of this.parts.held.values()) {
      if (entry.state === 'parked') this.parts.held.setState(entry, 'buffered');
    }
  }

  /** @returns whether no handler runs any more, after `ms` at the latest */
  async idleWithin(ms: number): Promise<boolean> {
    if (this.#running === 0) return true;
    await new Promise<void>((resolve) => {
      const timer = startTimer(ms, resolve, { keepAlive: true });
      this.#idleWaiters.add(() => {
        timer.clear();
        resolve();
      });
    });
    return this.#running === 0;
  }

  /** Resolves when the failures of handlers are noted. */
  async settled(): Promise<void> {
    await Promise.all(this.#jobs);
  }

  #pump(): void {
    const { scope, held } = this.parts;
    while (!this.#stopped && this.#running < scope.options.concurrency) {
      const entry = this.#waiting.take();
      if (entry === undefined) return;
      // Lost, and dropped, while it waited.
      if (held.get(entry.id) !== entry) continue;
      this.#running++;
      held.setState(entry, 'running');
      void this.#run(entry);
    }
  }

  async #run(entry: HeldEntry): Promise<void> {
    try {
      if (!entry.redelivered || (await this.#countStart(entry))) await this.#process(entry);
    } catch (error) {
      // A fault of ours must not stop the reader, nor be taken for success: the entry is tried again.
      report(
        this.parts.scope,
        'ERR_STREAM_INTERNAL',
        `Entry ${entry.id} of ${this.parts.scope.label} could not be run`,
        error,
      );
      this.#park(entry, backoffDelay(entry.failures + 1, START_RETRY));
    }
    this.#waiting.ended(entry);
    this.#running--;
    this.#pump();
    if (this.#running > 0) return;
    // Nothing else is to come that could share the batch.
    this.parts.acks.flush();
    for (const resolve of this.#idleWaiters) resolve();
    this.#idleWaiters.clear();
  }

  /** @returns whether the entry may run */
  async #countStart(entry: HeldEntry): Promise<boolean> {
    const { scope, held, graveyard, acks } = this.parts;
    const { context, keys, group, consumer, options } = scope;
    if (entry.deliveries >= options.maxDeliveries) {
      graveyard.bury(entry, 'max-deliveries', undefined);
      return false;
    }
    // Should this start end the process, what is done already must not be counted as begun once more.
    if (isSuspect(entry)) await acks.allConfirmed(context.connection.commandTimeout);
    let reply: -1 | 0 | 1;
    try {
      reply = await runScript(
        context.connection,
        startScript,
        [keys.stream],
        [group, consumer, entry.id, entry.deliveries + 1],
      );
    } catch {
      // The gate has reported it. Not a failed attempt: the handler did not run.
      this.#park(entry, backoffDelay(3, START_RETRY));
      return false;
    }
    if (reply === -1) {
      held.remove(entry);
      return false;
    }
    entry.gone ||= reply === 0;
    entry.deliveries++;
    entry.redelivered = false;
    return true;
  }

  async #process(entry: HeldEntry): Promise<void> {
    const { scope, routes, graveyard } = this.parts;
    const message = readFields(entry.fields);
    const route = routes.find(message.type);
    if (route === undefined) return this.#unknownType(entry);
    let decoded: ReturnType<typeof decodeMessage>;
    try {
      decoded = decodeMessage(message);
    } catch (error) {
      return graveyard.bury(entry, 'decode', error);
    }
    const decision: Decision = { settled: undefined, retryDelay: undefined, burial: undefined };
    const { actions } = this.parts;
    const context = new StreamContext({ entry, scope, message, actions, decision }, decoded.headers);
    try {
      const run = { scope, entry, route, message, decision, headers: decoded.headers };
      await traceHandler(run, () => route.handler(decoded.body, context));
      await decision.burial;
    } catch (error) {
      return this.#threw(entry, route, decision, error);
    }
    if (decision.settled === undefined) this.parts.acks.add(entry);
    else if (decision.settled === 'retry') this.#failed(entry, route, undefined, decision.retryDelay);
  }

  #unknownType(entry: HeldEntry): void {
    const { scope, acks, graveyard } = this.parts;
    const { type }: RawMessage = readFields(entry.fields);
    switch (scope.options.onUnknownType) {
      case 'ack':
        return acks.add(entry);
      case 'retry':
        return this.#park(entry, backoffDelay(++entry.misses, UNKNOWN_TYPE_BACKOFF));
      case 'dead-letter': {
        const text = type === undefined ? 'without a type' : `of type '${type}'`;
        return graveyard.bury(entry, 'unknown-type', `${scope.label} has no handler for messages ${text}`);
      }
    }
  }

  #threw(entry: HeldEntry, route: Route, decision: Decision, error: unknown): void {
    const { scope, graveyard } = this.parts;
    if (decision.settled === 'ack' || decision.settled === 'deadLetter') {
      return warn(
        scope,
        'ERR_STREAM_HANDLER',
        `${route.name} failed after it had settled entry ${entry.id} of ${scope.label}`,
      );
    }
    if (error instanceof UnrecoverableMessageError && !entry.lost) return graveyard.bury(entry, 'unrecoverable', error);
    const asked = error instanceof RetryMessageError ? error.delay : undefined;
    this.#failed(entry, route, error, decision.retryDelay ?? (asked === undefined ? undefined : parseDuration(asked)));
  }

  #failed(entry: HeldEntry, route: Route, error: unknown, delay: number | undefined): void {
    const { scope, held, graveyard } = this.parts;
    if (entry.lost) return held.remove(entry);
    // Cut off by the end of the application: no fault of the message. It stays pending and is released.
    if (entry.aborted) return held.setState(entry, 'buffered');
    entry.failures++;
    const { attempts, backoff } = route.retry;
    if (entry.failures >= attempts) return graveyard.bury(entry, 'max-attempts', error);
    const pause = delay ?? backoffDelay(entry.failures, backoff);
    const text = error instanceof Error ? `: ${error.message}` : '';
    warn(
      scope,
      'ERR_STREAM_HANDLER',
      `${route.name}: attempt ${entry.failures} of ${attempts} at entry ${entry.id} of ${scope.label} failed${text}; ` +
        `next in ${Math.round(pause)} ms`,
    );
    this.#park(entry, pause);
    const job = this.#noteFailure(entry).finally(() => this.#jobs.delete(job));
    this.#jobs.add(job);
  }

  /** So that the attempts of a process that dies count. Where Redis does not answer, this process still knows them. */
  async #noteFailure(entry: HeldEntry): Promise<void> {
    const { scope, held } = this.parts;
    const { context, keys, group, consumer, abandonAfter } = scope;
    const reply = await runScript(
      context.connection,
      failScript,
      [keys.stream, keys.tries],
      [group, consumer, entry.id, entry.failures, abandonAfter],
    ).catch(() => 1);
    if (reply === -1 && !entry.gone && entry.state === 'parked') held.remove(entry);
  }

  /** Keeps the entry, under lease, until it is due. */
  #park(entry: HeldEntry, ms: number): void {
    const { held } = this.parts;
    if (held.get(entry.id) !== entry) return;
    if (entry.lost) return held.remove(entry);
    if (this.#stopped) return held.setState(entry, 'buffered');
    held.setState(entry, 'parked');
    entry.parking = startTimer(ms, () => {
      entry.renewSignal();
      held.setState(entry, 'buffered');
      this.accept([entry]);
    });
  }
}
