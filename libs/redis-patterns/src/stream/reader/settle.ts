import { runScript } from '../../scripting/index.js';
import { backoffDelay } from '../../core/backoff.js';
import { compareIds } from '../../core/stream-id.js';
import { startTimer, type Timer } from '../../core/timer.js';
import { readFields } from '../message.js';
import { ackOrderedScript, ackRetriedScript, turnScript } from '../scripts.generated.js';
import { LeaseLostError } from '../stream.errors.js';
import type { Held } from './held.js';
import type { HeldEntry } from './held-entry.js';
import { ReaderTracer } from './reader-tracer.js';
import type { ReaderScope } from './scope.js';

const MAX_BATCH = 256;
const MAX_WAIT_MS = 2;
const RETRY = { base: 50, max: 5000 };
const NONE: ReadonlySet<HeldEntry> = new Set();

/** Who waits for the confirmation of one. */
interface Confirmation {
  resolve(): void;
  reject(reason: unknown): void;
}

/**
 * Acknowledges in batches. Not owner-checked: a late acknowledgement only says that the work is done; but where it gives the
 * next message of a key its turn. Until it is confirmed the entry stays held (its lease is renewed, and it takes room),
 * however long Redis is away.
 */
export class Acks {
  readonly #tracer: ReaderTracer;
  #queue: HeldEntry[] = [];
  #timer: Timer | undefined;
  #flushesSoon = false;
  #failures = 0;
  readonly #confirmations = new Map<HeldEntry, Confirmation>();
  #unconfirmed = 0;
  readonly #whenAllConfirmed = new Set<() => void>();
  #closed = false;

  constructor(
    private readonly scope: ReaderScope,
    private readonly held: Held,
  ) {
    this.#tracer = new ReaderTracer(scope);
  }

  add(entry: HeldEntry): void {
    this.held.acked(entry);
    this.#unconfirmed++;
    this.#queue.push(entry);
    // After a failure the pause is over when its own timer says so.
    if (this.#queue.length >= MAX_BATCH && this.#failures === 0) this.flush();
    else this.#timer ??= startTimer(MAX_WAIT_MS, () => this.#send());
  }

  /**
   * Resolves when Redis has confirmed it.
   *
   * @throws LeaseLostError where there is an order, and the message is another's and not done
   * @throws RedisUnavailableError only when the reader has ended meanwhile
   */
  confirmed(entry: HeldEntry): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#confirmations.set(entry, { resolve, reject });
      this.add(entry);
      // Somebody waits: what else is done in this turn goes along, and no timer is waited for.
      if (this.#flushesSoon) return;
      this.#flushesSoon = true;
      setImmediate(() => {
        this.#flushesSoon = false;
        this.flush();
      });
    });
  }

  /** Sends what waits, without waiting for more; while Redis is away, the pause between attempts is kept. */
  flush(): void {
    if (this.#queue.length > 0 && this.#failures === 0) this.#send();
  }

  /** Sends what waits and resolves when everything is confirmed, or after `ms`. */
  async allConfirmed(ms: number): Promise<void> {
    if (this.#unconfirmed === 0) return;
    this.#send();
    await new Promise<void>((resolve) => {
      const done = (): void => {
        timer.clear();
        this.#whenAllConfirmed.delete(done);
        resolve();
      };
      const timer = startTimer(ms, done, { keepAlive: true });
      this.#whenAllConfirmed.add(done);
    });
  }

  /** The reader ends: what is left, and what a handler that outlives it adds, is sent once. */
  close(): void {
    this.#closed = true;
    this.#send();
  }

  #send(): void {
    this.#timer?.clear();
    this.#timer = undefined;
    while (this.#queue.length > 0) void this.#sendBatch(this.#queue.splice(0, MAX_BATCH));
  }

  async #sendBatch(batch: HeldEntry[]): Promise<void> {
    const retried = batch.filter(({ plane }) => plane.isRetry === 1);
    const plain = retried.length === 0 ? batch : batch.filter(({ plane }) => plane.isRetry === 0);
    const results = await Promise.allSettled([this.#ack(plain), this.#ackRetried(retried)]);
    const left = [plain, retried].filter((_, index) => results[index]!.status === 'rejected').flat();
    if (left.length === 0) {
      this.#failures = 0;
      return;
    }
    if (this.#closed) {
      const failed = results.find((result) => result.status === 'rejected');
      for (const entry of left) this.#confirmation(entry)?.reject(failed!.reason);
      return;
    }
    this.#queue.unshift(...left);
    this.#timer ??= startTimer(backoffDelay(++this.#failures, RETRY), () => this.#send());
  }

  async #ack(entries: readonly HeldEntry[]): Promise<void> {
    if (entries.length === 0) return;
    const { context, keys, group } = this.scope;
    const ids = entries.map(({ id }) => id);
    await this.#tracer.ack(entries, () =>
      context.connection.run({
        name: 'stream.ack',
        effect: 'idempotent',
        key: keys.stream,
        send: (client) => client.xack(keys.stream, group, ...ids),
      }),
    );
    this.#confirm(entries);
  }

  async #ackRetried(entries: readonly HeldEntry[]): Promise<void> {
    if (entries.length === 0) return;
    const { context, keys, group, options } = this.scope;
    const ids = entries.map(({ id }) => id);
    const refused = await this.#tracer.ack(entries, async () => {
      if (options.ordering === 'key') return this.#ackInOrder(entries);
      await runScript(context.connection, ackRetriedScript, [keys.retries], [group, ...ids]);
      return NONE;
    });
    this.#confirm(entries, refused);
  }

  /**
   * Where there is an order who has lost an entry says nothing of it: others may be running it, and its key waits for that run.
   *
   * @returns those that are not done
   */
  async #ackInOrder(entries: readonly HeldEntry[]): Promise<ReadonlySet<HeldEntry>> {
    const { context, keys, group, consumer, label } = this.scope;
    const { retries, lanes, parked } = keys;
    const ids = entries.map(({ id }) => id).sort(compareIds);
    const args = [group, consumer, ...ids] as const;
    const missed = new Set(await runScript(context.connection, ackOrderedScript, [retries, lanes, parked], [...args]));
    const refused = new Set<HeldEntry>();
    for (const entry of entries) {
      if (!missed.has(entry.id)) continue;
      // Unless it is done: an answer to this very acknowledgement was lost, or the others were quick.
      const { key = '' } = readFields(entry.fields);
      const turn = await runScript(context.connection, turnScript, [lanes], [key, entry.originalId]);
      if (turn === 0) continue;
      entry.lose(label);
      refused.add(entry);
    }
    return refused;
  }

  /** @param refused those that are not done */
  #confirm(entries: readonly HeldEntry[], refused = NONE): void {
    for (const entry of entries) {
      this.held.remove(entry);
      const confirmation = this.#confirmation(entry);
      if (refused.has(entry)) confirmation?.reject(new LeaseLostError(entry.originalId, this.scope.label));
      else confirmation?.resolve();
    }
    this.#unconfirmed -= entries.length;
    if (this.#unconfirmed === 0) for (const done of this.#whenAllConfirmed) done();
  }

  #confirmation(entry: HeldEntry): Confirmation | undefined {
    const confirmation = this.#confirmations.get(entry);
    this.#confirmations.delete(entry);
    return confirmation;
  }
}
