import type { EngineContext, SubscriptionLoss } from '../connection/index.js';
import { backoffDelay, sleep, startTimer, type Timer } from '../core/index.js';
import { runScript } from '../scripting/index.js';
import type { Target } from './channel-book.js';
import type { Feed, FeedSink } from './feed.js';
import { compareIds } from '../core/stream-id.js';
import { NO_ID, readFrame, timeOf, type Frame } from './frame.js';
import type { GapReason } from './gap.js';
import { readScript } from './scripts.generated.js';

type Kept = Extract<Frame, { form: 'kept' }>;

/** Messages that one read gives at most. */
const BATCH = 100;
/** Messages that come during a read and are kept for its end; beyond them it is read again. */
const MAX_HELD = 1000;
/** After that long without a message the channel is looked at; milliseconds. */
const SILENCE = 5000;
/** Between two attempts to read; milliseconds. */
const BACKOFF = { base: 50, max: 5000 };
/** By how much the clock of Redis and the end of a key may differ; milliseconds. */
const EXPIRY_SLACK = 100;

/**
 * Reliable: each message names the one before it. Where the chain has a hole, after the socket was lost, after a while of silence
 * and when the handler has room again, what is missing is read from what Redis keeps. A hole in that as well is a gap.
 */
export class ReliableFeed implements Feed {
  /** Id of the last message that was handed on, or that was there before; unknown until {@link begin}. */
  #last: string | undefined;
  /** Up to there what comes over the channel has been read already. */
  #readUpTo = NO_ID;
  #held: Kept[] = [];
  #reading = false;
  /** Something came that the read under way may not have seen. */
  #again = false;
  /** The sink was full: read on when it has room. */
  #behind = false;
  /** When the chain was last known to be whole; `performance.now()`. */
  #wholeAt = 0;
  #timer: Timer | undefined;
  #troubled = false;
  readonly #ended = new AbortController();

  constructor(
    private readonly context: EngineContext,
    private readonly target: Target,
    private readonly sink: FeedSink,
    /** Tells of a message that is none of reliable delivery. */
    private readonly onStranger: () => void,
  ) {}

  async begin(): Promise<void> {
    for (let attempt = 1; this.#last === undefined; attempt++) {
      try {
        const [tail] = await this.#read(NO_ID, 0);
        this.#last = tail;
        this.#readUpTo = tail;
      } catch (error) {
        this.#ended.signal.throwIfAborted();
        if (attempt === 1) this.#complain(error);
        await sleep(backoffDelay(attempt, BACKOFF), this.#ended.signal);
      }
    }
    this.#whole();
    this.#watch();
    if (!this.#takeHeld() || this.#again) void this.#fill();
  }

  message(payload: Buffer): void {
    const frame = readFrame(payload.toString());
    if (frame.form !== 'kept') return this.onStranger();
    if (this.#last !== undefined && !this.#reading) {
      if (!this.#behind && !this.#take(frame)) void this.#fill();
      return;
    }
    if (this.#held.length < MAX_HELD) return void this.#held.push(frame);
    this.#held = [];
    this.#again = true;
  }

  gap(_loss: SubscriptionLoss): void {
    if (this.#last === undefined) this.#again = true;
    else void this.#fill();
  }

  roomy(): void {
    if (!this.#behind) return;
    this.#behind = false;
    void this.#fill();
  }

  close(): void {
    this.#ended.abort(new Error('the subscription has ended'));
    this.#timer?.clear();
    this.#held = [];
  }

  /** @returns whether the chain is whole; else it has to be read */
  #take(frame: Kept): boolean {
    const last = this.#last!;
    if (frame.previous === last && compareIds(frame.id, last) > 0) {
      if (this.#isStale && last === NO_ID) return false;
      if (this.sink.room > 0) this.#accept(frame.id, frame.payload);
      else this.#behind = true;
      return true;
    }
    // What was read before it came; an older id than that means that the channel was set back.
    return compareIds(frame.id, this.#readUpTo) <= 0;
  }

  #accept(id: string, payload: string): void {
    this.#last = id;
    this.#whole();
    this.sink.push({ at: timeOf(id), channel: this.target.key, payload, id });
  }

  /** Reads until nothing is missing any more, or there is no room. Never rejects. */
  async #fill(): Promise<void> {
    this.#again = true;
    if (this.#reading) return;
    this.#reading = true;
    for (let failures = 0; this.#again && !this.#ended.signal.aborted;) {
      const room = Math.min(BATCH, this.sink.room);
      if (room === 0) break;
      this.#again = false;
      try {
        const [tail, now, messages] = await this.#read(this.#last!, room);
        if (this.#ended.signal.aborted) break;
        failures = 0;
        this.#troubled = false;
        this.#takeRead(tail, now, messages);
        this.#again ||= messages.length === room || !this.#takeHeld();
      } catch (error) {
        if (this.#ended.signal.aborted) break;
        if (++failures === 1) this.#complain(error);
        this.#again = true;
        await sleep(backoffDelay(failures, BACKOFF), this.#ended.signal).catch(() => undefined);
      }
    }
    this.#reading = false;
    this.#held = [];
    // The sink may have got room while this was under way.
    if (this.#again && !this.#ended.signal.aborted) {
      this.#behind = true;
      if (this.sink.room > 0) this.roomy();
    }
  }

  #takeRead(tail: string, now: number, messages: readonly [id: string, fields: string[]][]): void {
    if (messages.length === 0) this.#judgeTail(tail, now);
    for (const [id, fields] of messages) {
      const [, previous = NO_ID, , payload = ''] = fields;
      const reason = this.#judge(previous, timeOf(id));
      if (reason !== undefined) this.#tellGap(reason, timeOf(id));
      this.#accept(id, payload);
      this.#readUpTo = id;
    }
    this.#whole();
  }

  /** Whether a message may follow the last one: why something is missing between them, if it is. */
  #judge(previous: string, at: number): GapReason | undefined {
    const last = this.#last!;
    if (this.#isStale && previous === NO_ID) return 'trimmed';
    const order = compareIds(previous, last);
    if (order > 0) return 'trimmed';
    return order === 0 || (previous === NO_ID && this.#hasExpired(at)) ? undefined : 'reset';
  }

  /** Nothing follows the last message: is it still the last one? */
  #judgeTail(tail: string, now: number): void {
    const last = this.#last!;
    if (tail === last && !(tail === NO_ID && this.#isStale)) return;
    const expired = tail === NO_ID && (last === NO_ID || this.#hasExpired(now));
    if (expired && this.#isStale) this.#tellGap('trimmed', now);
    else if (!expired) this.#tellGap('reset', now);
    this.#last = tail;
    this.#readUpTo = tail;
  }

  /** Whether the channel is forgotten because nothing was published for `ttl` after the last message. */
  #hasExpired(now: number): boolean {
    return now - timeOf(this.#last!) >= this.target.settings.ttl - EXPIRY_SLACK;
  }

  /** Nobody has looked for so long that messages may have come and gone. */
  get #isStale(): boolean {
    return performance.now() - this.#wholeAt >= this.target.settings.ttl - EXPIRY_SLACK;
  }

  /** @returns whether the chain is whole */
  #takeHeld(): boolean {
    const held = this.#held;
    this.#held = [];
    return held.every((frame) => this.#take(frame));
  }

  #tellGap(reason: GapReason, to: number): void {
    const last = timeOf(this.#last!);
    this.sink.gap({
      from: last > 0 ? Math.min(last, to) : Date.now() - (performance.now() - this.#wholeAt),
      to,
      reason,
    });
  }

  #whole(): void {
    this.#wholeAt = performance.now();
  }

  #watch(): void {
    const left = this.#wholeAt + SILENCE - performance.now();
    this.#timer = startTimer(Math.max(left, SILENCE / 10), () => {
      if (performance.now() - this.#wholeAt >= SILENCE && !this.#behind) void this.#fill();
      this.#watch();
    });
  }

  #read(after: string, count: number): Promise<[string, number, [id: string, fields: string[]][]]> {
    return runScript(this.context.connection, readScript, [this.target.key], [after, count]);
  }

  #complain(error: unknown): void {
    if (this.#troubled) return;
    this.#troubled = true;
    this.context.telemetry.emit('error', {
      pattern: 'PubSub',
      code: 'ERR_PUBSUB_READ',
      message: 'What is kept of a reliable channel could not be read; it is tried again',
      error,
    });
  }
}
