import { sleep } from '../../core/abort.js';
import { backoffDelay } from '../../core/backoff.js';
import { runScript } from '../../scripting/index.js';
import { deadLetterScript } from '../scripts.generated.js';
import { LeaseLostError } from '../stream.errors.js';
import type { Held, HeldEntry } from './held.js';
import { report, type ReaderScope } from './scope.js';

/** Why a message became a dead letter. */
export type DeadLetterReason =
  'max-attempts' | 'max-deliveries' | 'unrecoverable' | 'decode' | 'unknown-type' | 'handler';

const RETRY = { base: 100, max: 5000 };
const MAX_ERROR_TEXT = 1000;
const LOST = -1;
const TRIMMED = -2;

/** Moves what cannot be processed to the dead letters, in one script that only the owner of the entry can run. */
export class Graveyard {
  readonly #jobs = new Set<Promise<void>>();

  constructor(
    private readonly scope: ReaderScope,
    private readonly held: Held,
    private readonly acknowledge: (entry: HeldEntry) => void,
    private readonly signal: AbortSignal,
  ) {}

  /** Buries it for sure: tries until Redis takes it, or the reader stops and leaves the entry pending. */
  bury(entry: HeldEntry, reason: DeadLetterReason, error: unknown): void {
    const job = this.#bury(entry, reason, error).finally(() => this.#jobs.delete(job));
    this.#jobs.add(job);
  }

  /** Resolves when nothing is on its way any more. */
  async idle(): Promise<void> {
    await Promise.all(this.#jobs);
  }

  /**
   * One attempt.
   *
   * @throws LeaseLostError; RedisUnavailableError and RedisCommandError, and then it is not known to be buried
   */
  async buryNow(entry: HeldEntry, reason: DeadLetterReason, error: unknown): Promise<void> {
    const before = entry.state;
    this.held.setState(entry, 'settling');
    try {
      const reply = await this.#send(entry, reason, error, entry.gone);
      if (reply === LOST) throw new LeaseLostError(entry.id, this.scope.label);
      if (reply === TRIMMED) await this.#send(entry, reason, error, true);
    } catch (failure) {
      this.held.setState(entry, before);
      throw failure;
    }
    this.held.remove(entry);
    const { label, context, stream, group } = this.scope;
    const { name: connection } = context.connection;
    context.telemetry.emit('dead-letter', { connection, stream, group, reason, attempts: entry.failures });
    report(
      this.scope,
      'ERR_STREAM_DEAD_LETTER',
      `Entry ${entry.id} of ${label} is a dead letter now (${reason})`,
      error,
    );
  }

  async #bury(entry: HeldEntry, reason: DeadLetterReason, error: unknown): Promise<void> {
    if (this.scope.options.deadLetter === false) {
      report(
        this.scope,
        'ERR_STREAM_DROPPED',
        `Entry ${entry.id} of ${this.scope.label} was dropped (${reason}): 'deadLetter' is false`,
        error,
      );
      this.acknowledge(entry);
      return;
    }
    this.held.setState(entry, 'settling');
    // A reader that stops tries once more.
    for (let attempt = 1; attempt === 1 || !this.signal.aborted; attempt++) {
      try {
        return await this.buryNow(entry, reason, error);
      } catch (failure) {
        // Another consumer has it now, or an attempt whose answer was lost has buried it.
        if (failure instanceof LeaseLostError) return this.held.remove(entry);
        await sleep(backoffDelay(attempt, RETRY), this.signal).catch(() => undefined);
      }
    }
  }

  #send(entry: HeldEntry, reason: DeadLetterReason, error: unknown, fromMemory: boolean): Promise<number | string> {
    const { context, keys, group, consumer, options, stream } = this.scope;
    const { maxLen, maxAge } = options.deadLetter === false ? { maxLen: 0, maxAge: 0 } : options.deadLetter;
    const facts: Record<string, string | number> = {
      reason,
      error: describe(error),
      id: entry.id,
      stream,
      group,
      consumer,
      attempt: entry.failures,
      deliveries: entry.deliveries,
    };
    const fields = Object.entries(facts).flatMap(([name, value]) => [`x-dlq-${name}`, String(value)]);
    return runScript(
      context.connection,
      deadLetterScript,
      [keys.stream, keys.deadLetters, keys.tries],
      [
        group,
        consumer,
        entry.id,
        fromMemory ? 1 : 0,
        maxLen,
        maxAge,
        ...(fromMemory ? [...entry.fields, ...fields] : fields),
      ],
      // Without an owner to check, nothing would stop a second one.
      fromMemory ? { effect: 'once' } : {},
    );
  }
}

/** Name and message; a stack would show paths, and is in the log. */
function describe(error: unknown): string {
  if (error === undefined) return '';
  const text = error instanceof Error ? `${error.name}: ${error.message}` : error;
  return (typeof text === 'string' ? text : `a value of type ${typeof text}`).slice(0, MAX_ERROR_TEXT);
}
