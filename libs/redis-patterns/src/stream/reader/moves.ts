import { sleep } from '../../core/abort.js';
import { backoffDelay } from '../../core/backoff.js';
import { runScript } from '../../scripting/index.js';
import { deadLetterOrderedScript, deadLetterScript, releaseScript, retryScript } from '../scripts.generated.js';
import { LeaseLostError } from '../stream.errors.js';
import { describeError } from './describe-error.js';
import type { Held } from './held.js';
import type { HeldEntry } from './held-entry.js';
import { report, type Plane, type ReaderScope } from './scope.js';

/** Why a message became a dead letter. */
export type DeadLetterReason =
  | 'max-attempts'
  | 'max-deliveries'
  | 'unrecoverable'
  | 'validation'
  | 'decode'
  | 'oversize'
  | 'unknown-type'
  | 'handler';

/** What a retry is moved with. */
export interface RetryOrder {
  /** Milliseconds. */
  readonly delay: number;
  /** Attempts that have failed. */
  readonly attempt: number;
}

const RETRY = { base: 100, max: 5000 };
const LOST = -1;
const TRIMMED = -2;
/** Entries of one hand-over. */
const CHUNK = 100;

type Reply = number | string;
type Send = (entry: HeldEntry, fromMemory: boolean) => Promise<Reply>;

/** Moves entries to the retries or the dead letters of their group, in one script that only their owner can run. */
export class Moves {
  readonly #jobs = new Set<Promise<void>>();

  constructor(
    private readonly scope: ReaderScope,
    private readonly held: Held,
    private readonly hooks: { acknowledge(entry: HeldEntry): void; retryIsDueIn(ms: number): void },
    private readonly signal: AbortSignal,
  ) {}

  /** Moves it to the retries for sure: tries until Redis takes it, or the reader stops and leaves the entry pending. */
  retry(entry: HeldEntry, order: RetryOrder): void {
    this.#start(entry, () => this.retryNow(entry, order));
  }

  /** Makes it a dead letter for sure, as {@link retry}. */
  bury(entry: HeldEntry, reason: DeadLetterReason, error: unknown): void {
    const { options, label } = this.scope;
    if (options.deadLetter !== false) return this.#start(entry, () => this.buryNow(entry, reason, error));
    const text = `Entry ${entry.originalId} of ${label} was dropped (${reason}): 'deadLetter' is false`;
    report(this.scope, 'ERR_STREAM_DROPPED', text, error);
    this.hooks.acknowledge(entry);
  }

  /** Resolves when nothing is on its way any more. */
  async idle(): Promise<void> {
    while (this.#jobs.size > 0) await Promise.all(this.#jobs);
  }

  /**
   * One attempt.
   *
   * @throws LeaseLostError; RedisUnavailableError and RedisCommandError, and then it is not known to have moved
   */
  async retryNow(entry: HeldEntry, { delay, attempt }: RetryOrder): Promise<void> {
    const { context, keys, group, consumer, abandonAfter } = this.scope;
    const ms = Math.round(delay);
    await this.#move(entry, ({ plane, id, originalId, fields }, fromMemory) =>
      runScript(
        context.connection,
        retryScript,
        [plane.key, keys.due, keys.dueBody, keys.retries],
        [
          group,
          consumer,
          id,
          ms,
          plane.isRetry,
          originalId,
          attempt,
          entry.unfinishedStarts,
          abandonAfter,
          ...memory(fields, fromMemory),
        ],
        // Without an owner to check, nothing would stop a second one.
        fromMemory ? { effect: 'once' } : {},
      ),
    );
    if (ms > 0) this.hooks.retryIsDueIn(ms);
  }

  /** As {@link retryNow}. */
  async buryNow(entry: HeldEntry, reason: DeadLetterReason, error: unknown): Promise<void> {
    const { context, keys, group, consumer, options, label } = this.scope;
    const { maxLen, maxAge, stack } = options.deadLetter || { maxLen: 1, maxAge: 1000, stack: false };
    const facts = JSON.stringify(this.#facts(entry, reason, describeError(error, stack)));
    await this.#move(entry, ({ plane, id, fields }, fromMemory) => {
      const args = [group, consumer, id, plane.isRetry, maxLen, maxAge, facts, ...memory(fields, fromMemory)] as const;
      const how = fromMemory ? ({ effect: 'once' } as const) : {};
      const { deadLetters, lanes, parked } = keys;
      return options.ordering === 'none'
        ? runScript(context.connection, deadLetterScript, [plane.key, deadLetters], [...args], how)
        : runScript(
            context.connection,
            deadLetterOrderedScript,
            [plane.key, deadLetters, lanes, parked],
            [...args],
            how,
          );
    });
    const { stream } = this.scope;
    const { name: connection } = context.connection;
    context.telemetry.emit('dead-letter', { connection, stream, group, reason, attempts: entry.failures });
    const text = `Entry ${entry.originalId} of ${label} is a dead letter now (${reason})`;
    report(this.scope, 'ERR_STREAM_DEAD_LETTER', text, error);
  }

  /** Hands entries over that have not begun, so that others run them at once; without an answer their leases end. */
  async release(plane: Plane, entries: readonly { id: string; unfinishedStarts: number }[]): Promise<void> {
    const { context, keys, group, consumer, abandonAfter } = this.scope;
    for (let from = 0; from < entries.length; from += CHUNK) {
      const pairs = entries.slice(from, from + CHUNK).flatMap(({ id, unfinishedStarts }) => [id, unfinishedStarts]);
      await runScript(
        context.connection,
        releaseScript,
        [plane.key, keys.retries],
        [group, consumer, plane.isRetry, abandonAfter, ...pairs],
      );
    }
  }

  #start(entry: HeldEntry, move: () => Promise<void>): void {
    const job = this.#insist(entry, move).finally(() => this.#jobs.delete(job));
    this.#jobs.add(job);
  }

  async #insist(entry: HeldEntry, move: () => Promise<void>): Promise<void> {
    // A reader that stops tries once more.
    for (let attempt = 1; attempt === 1 || !this.signal.aborted; attempt++) {
      entry.state = 'moving';
      try {
        return await move();
      } catch (failure) {
        // Another consumer has it now, or an attempt whose answer was lost has moved it.
        if (failure instanceof LeaseLostError) return this.held.remove(entry);
        await sleep(backoffDelay(attempt, RETRY), this.signal).catch(() => undefined);
      }
    }
  }

  async #move(entry: HeldEntry, send: Send): Promise<void> {
    const before = entry.state;
    entry.state = 'moving';
    try {
      const reply = await send(entry, entry.gone);
      if (reply === LOST) throw new LeaseLostError(entry.originalId, this.scope.label);
      if (reply === TRIMMED) await send(entry, true);
    } catch (failure) {
      entry.state = before;
      throw failure;
    }
    this.held.remove(entry);
  }

  #facts(entry: HeldEntry, reason: DeadLetterReason, error: string): string[] {
    const { stream, group, consumer } = this.scope;
    const facts = {
      reason,
      error,
      id: entry.originalId,
      stream,
      group,
      consumer,
      attempt: entry.failures + (reason === 'max-attempts' ? 1 : 0),
      deliveries: entry.unfinishedStarts + (reason === 'max-deliveries' ? 0 : 1),
    };
    return Object.entries(facts).flatMap(([name, value]) => [`x-dlq-${name}`, String(value)]);
  }
}

function memory(fields: readonly string[], fromMemory: boolean): [0] | [1, ...string[]] {
  return fromMemory ? [1, ...fields] : [0];
}
