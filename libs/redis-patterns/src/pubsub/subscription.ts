import type { EngineContext, Subscription as Listening } from '../connection/index.js';
import { decodeValue } from '../codec/index.js';
import { raceSignal } from '../core/abort.js';
import { asCallContext } from '../core/call-context.js';
import { validate } from '../core/standard-schema.js';
import { startTimer } from '../core/timer.js';
import type { PatternTracer } from '../telemetry/index.js';
import type { ChannelBook, Target } from './channel-book.js';
import { DeliveryQueue } from './delivery-queue.js';
import { DirectFeed } from './direct-feed.js';
import type { Feed, FeedSink, Incoming } from './feed.js';
import type { GapListener, PendingGap, SubscriptionGap } from './gap.js';
import { PubSubPayloadError, PubSubSubscribeError } from './pubsub.errors.js';
import type { PubSubHandler, PubSubContext } from './pubsub-context.js';
import { ReliableFeed } from './reliable-feed.js';

export interface SubscriptionSetup {
  readonly context: EngineContext;
  readonly book: ChannelBook;
  readonly target: Target;
  /** `Class.method`, or what else names it. */
  readonly name: string;
  readonly handler: PubSubHandler;
  readonly maxPending: number;
  readonly overflow: 'drop-oldest' | 'drop-newest';
  readonly concurrency: number;
  readonly drainTimeout: number;
  /** Those who want to hear of its gaps now. */
  readonly gapListeners: () => readonly GapListener[];
}

/** A channel or pattern that one handler listens to, until {@link close}. */
export class Subscription {
  readonly #queue: DeliveryQueue<Incoming>;
  readonly #feed: Feed;
  readonly #listening: Listening;
  readonly #tracer: PatternTracer;
  readonly #ended = new AbortController();
  readonly #closed = new AbortController();
  readonly #closeListeners: (() => void)[] = [];
  readonly #begun: Promise<void>;
  #closing: Promise<void> | undefined;

  /** @internal */
  constructor(private readonly setup: SubscriptionSetup) {
    const { context, target, maxPending, overflow, concurrency } = setup;
    this.#tracer = context.telemetry.tracer('pubsub', context.connection.name);
    this.#queue = new DeliveryQueue<Incoming>({
      maxPending,
      overflow,
      concurrency,
      run: (message) => this.#run(message),
      tell: (gap) => this.#tell(gap),
      roomy: () => this.#feed.roomy(),
    });
    this.#feed = this.#newFeed(this.#queue);
    // What the feed has to be is known only now, and the queue asks it for nothing before something comes.
    this.#listening = context.connection.subscribe(target.kind, target.key, this.#feed);
    this.#begun = this.#listening.confirmed().then(() => this.#feed.begin());
    // Nobody has to wait for it.
    this.#begun.catch(() => undefined);
  }

  /** The channel or pattern, without the namespace. */
  get channel(): string {
    return this.setup.target.name;
  }

  get isPattern(): boolean {
    return this.setup.target.kind === 'pattern';
  }

  /** Names it in gaps and in the log. */
  get name(): string {
    return this.setup.name;
  }

  /** Messages that wait for the handler. */
  get pending(): number {
    return this.#queue.waiting;
  }

  /**
   * Resolves when Redis has confirmed it; what is published from then on is heard.
   *
   * @internal
   */
  confirmed(signal?: AbortSignal): Promise<void> {
    return raceSignal(raceSignal(this.#begun, signal), this.#closed.signal);
  }

  /**
   * Stops to listen. What has come is still handled, for `drainTimeout` at most; then `ctx.signal` aborts, and the rest is
   * dropped. Never rejects; idempotent.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /**
   * Calls back once when it has been closed.
   *
   * @internal
   */
  onClosed(listener: () => void): void {
    this.#closeListeners.push(listener);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    this.#closed.abort(new PubSubSubscribeError(this.channel, 'it was closed before Redis had confirmed it'));
    this.#listening.close();
    this.#feed.close();
    this.#queue.stop();
    await new Promise<void>((resolve) => {
      const timer = startTimer(this.setup.drainTimeout, resolve, { keepAlive: true });
      void this.#queue.idle().then(() => {
        timer.clear();
        resolve();
      });
    });
    this.#ended.abort(new Error('the subscription has ended'));
    this.#queue.clear();
    for (const listener of this.#closeListeners) listener();
  }

  #newFeed(sink: FeedSink): Feed {
    const { book, context, target } = this.setup;
    if (target.settings.delivery === 'reliable') {
      return new ReliableFeed(context, target, sink, () =>
        this.#unreadable(Date.now(), new Error("its sender does not use delivery: 'reliable'")),
      );
    }
    if (target.kind !== 'pattern') {
      const isForeign = target.settings.raw && !target.settings.sequence;
      return new DirectFeed(sink, () => isForeign);
    }
    return new DirectFeed(sink, (channel) => {
      const { raw, sequence, delivery } = book.settingsOf(book.nameOf(channel));
      return raw && !sequence && delivery !== 'reliable';
    });
  }

  #run(message: Incoming): Promise<unknown> | undefined {
    const { book, target } = this.setup;
    const name = book.nameOf(message.channel);
    const settings = target.kind === 'pattern' ? book.settingsOf(name) : target.settings;
    try {
      const decoded = settings.raw ? message.payload : decodeValue(message.payload);
      const { schema } = settings;
      const refuse = (issues: readonly string[]) => new PubSubPayloadError(name, issues);
      const body = schema === undefined ? decoded : validate(schema, decoded, refuse);
      if (!(body instanceof Promise)) return this.#handle(body, message, name);
      return body.then(
        (value) => this.#handle(value, message, name),
        (error: unknown) => this.#unreadable(message.at, error),
      );
    } catch (error) {
      this.#unreadable(message.at, error);
      return undefined;
    }
  }

  /** Neither throws nor rejects. */
  #handle(body: unknown, { id }: Incoming, channel: string): Promise<unknown> | undefined {
    const context = asCallContext<PubSubContext>({
      channel,
      signal: this.#ended.signal,
      subscription: this.name,
      ...(this.isPattern ? { pattern: this.channel } : {}),
      ...(id === undefined ? {} : { id }),
    });
    const { handler } = this.setup;
    return this.#guarded('ERR_PUBSUB_HANDLER', `${this.name} failed on a message`, () =>
      this.#tracer.active
        ? this.#tracer.run({ operation: 'process', name: this.name }, () => handler(body, context))
        : handler(body, context),
    );
  }

  #tell({ from, to, reason, missed }: PendingGap): Promise<unknown> | undefined {
    const gap: SubscriptionGap = {
      channel: this.channel,
      isPattern: this.isPattern,
      subscription: this.name,
      from: new Date(from),
      to: new Date(to),
      reason,
      ...(missed === undefined ? {} : { missed }),
    };
    this.setup.context.telemetry.emit('subscription-gap', {
      connection: this.setup.context.connection.name,
      subscription: this.name,
      reason,
      ms: to - from,
      ...(missed === undefined ? {} : { missed }),
    });
    const told = this.setup
      .gapListeners()
      .map((listener) => this.#guarded('ERR_PUBSUB_GAP', `${this.name} could not tell of a gap`, () => listener(gap)))
      .filter((promise) => promise !== undefined);
    return told.length === 0 ? undefined : Promise.all(told);
  }

  #guarded(code: string, what: string, call: () => unknown): Promise<unknown> | undefined {
    const failed = (error: unknown): void =>
      this.setup.context.telemetry.emit('error', { pattern: 'PubSub', code, message: what, error });
    try {
      const result = call();
      return isThenable(result) ? Promise.resolve(result).catch(failed) : undefined;
    } catch (error) {
      failed(error);
      return undefined;
    }
  }

  #unreadable(at: number, error: unknown): void {
    this.setup.context.telemetry.emit('error', {
      pattern: 'PubSub',
      code: 'ERR_PUBSUB_UNREADABLE',
      message: `${this.name} got a message that cannot be read; both sides need the same 'pubsub.channels' settings`,
      error,
    });
    this.#queue.gapBefore({ from: at, to: at, reason: 'unreadable', missed: 1 });
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function';
}
