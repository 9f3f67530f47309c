import { RedisUnavailableError, type EngineContext } from '../connection/index.js';
import { InvalidOptionsError } from '../core/errors.js';
import { checkHandler } from '../core/handler.js';
import { keyTemplate } from '../keys/index.js';
import type { PatternTracer } from '../telemetry/index.js';
import { ChannelBook, type Channel, type ChannelPattern, type Target } from './channel-book.js';
import type { GapListener } from './gap.js';
import { Publisher } from './publisher.js';
import { PubSubSubscribeError } from './pubsub.errors.js';
import type { PubSubHandler } from './pubsub-context.js';
import {
  resolvePublish,
  resolveSubscribe,
  resolveSubscription,
  type PubSubPublishOptions,
  type ResolvedPubSubOptions,
  type SubscribeOptions,
  type SubscriptionOptions,
} from './pubsub.options.js';
import { Subscription } from './subscription.js';

/** What only patterns have. */
const GLOB = /[*?]|\[.*\]/;

/** Who wants to hear of the gaps of a channel or pattern, whoever listens to it. */
interface GapWatch {
  readonly kind: 'channel' | 'pattern';
  readonly name: string;
  readonly listener: GapListener;
}

/** Broadcast that says when it may have missed something: publishing, and subscriptions of one process. */
export class PubSubEngine {
  readonly #book: ChannelBook;
  readonly #publisher: Publisher;
  readonly #tracer: PatternTracer;
  readonly #subscriptions = new Set<Subscription>();
  readonly #watches = new Set<GapWatch>();
  #draining: Promise<void> | undefined;

  constructor(
    private readonly context: EngineContext,
    private readonly options: ResolvedPubSubOptions,
  ) {
    this.#book = new ChannelBook(context.keys, options);
    this.#publisher = new Publisher(context);
    this.#tracer = context.telemetry.tracer('pubsub', context.connection.name);
  }

  /**
   * Sends a message to everybody who listens now; a reliable channel keeps it for those who are not connected for a moment.
   * Messages of one sender to one channel arrive in order if each publish is awaited, or all are sent while the connection
   * is ready.
   *
   * What was surely not sent is sent again until the connection's `commandTimeout`; what may have arrived never is.
   *
   * @param channel a text, or an array whose parts are escaped: `['stock', productId]`
   * @throws RedisUnavailableError its `outcome` says whether the message may have been sent
   * @throws PubSubPayloadError `ERR_PUBSUB_PAYLOAD` when it does not fit the channel's `schema` or `raw`
   * @throws CodecError for a payload that has no text (a function, a class instance)
   *
   * @example
   * ```ts
   * await pubsub.publish(['stock', product.id], { stock: 3 });
   * ```
   */
  async publish(channel: Channel, payload: unknown, options?: PubSubPublishOptions): Promise<void> {
    const given = options === undefined ? undefined : resolvePublish(options);
    const target = this.#book.channel(channel, given, 'PubSubService.publish()');
    if (!this.#tracer.active) return this.#publisher.publish(target, payload);
    const facts = { operation: 'publish', name: 'PubSubService.publish', keyTemplate: keyTemplate(channel) };
    await this.#tracer.run(facts, () => this.#publisher.publish(target, payload), {
      ended: (_, operation) => (operation.outcome = 'published'),
    });
  }

  /**
   * Listens to a channel, or to all channels that fit a pattern. When it resolves Redis has confirmed: nothing that is
   * published from then on is missed without a gap. It heals by itself, until it is closed or the application ends.
   *
   * @param handler gets `(payload, context)`; serial subscriptions wait for its promise before the next message
   * @throws PubSubSubscribeError `ERR_PUBSUB_SUBSCRIBE` when Redis refuses, or has not confirmed within `timeout`
   * @throws InvalidOptionsError for a wrong option, or one that differs from `pubsub.channels`; for a handler that is a
   * generator or no function
   *
   * @example
   * ```ts
   * const subscription = await pubsub.subscribe<Stock>('stock', (stock) => shown.update(stock), { onGap: () => shown.reload() });
   * await subscription.close();
   * ```
   */
  async subscribe<T = unknown>(
    channel: Channel | ChannelPattern,
    handler: PubSubHandler<T>,
    options?: SubscribeOptions,
  ): Promise<Subscription> {
    const { onGap, name, timeout, signal, ...settings } = resolveSubscribe(options);
    const where = 'PubSubService.subscribe()';
    checkHandler(handler, where);
    const subscription = this.#open(channel, handler as PubSubHandler, settings, name ?? where, onGap);
    const timer = AbortSignal.timeout(timeout);
    try {
      await subscription.confirmed(signal === undefined ? timer : AbortSignal.any([signal, timer]));
      return subscription;
    } catch (error) {
      void subscription.close();
      if (signal?.aborted === true) throw signal.reason;
      if (error instanceof PubSubSubscribeError) throw error;
      throw this.#notConfirmed(subscription.channel, error, timer.aborted ? timeout : undefined);
    }
  }

  /**
   * Listens without waiting for the confirmation.
   *
   * @internal
   */
  listen(
    channel: Channel | ChannelPattern,
    handler: PubSubHandler,
    options: SubscriptionOptions,
    name: string,
  ): Subscription {
    return this.#open(channel, handler, resolveSubscription(options, name), name, undefined);
  }

  /**
   * Refuses what {@link listen} would refuse, and warns of a channel that looks like a pattern.
   *
   * @internal
   */
  check(channel: Channel | ChannelPattern, options: SubscriptionOptions, name: string): void {
    this.#target(channel, resolveSubscription(options, name), name);
    if (typeof channel !== 'string' || !GLOB.test(channel)) return;
    const message = `${name} listens to the one channel that is called '${channel}'; for all that fit it write { pattern: '${channel}' }`;
    this.context.telemetry.emit('warning', { pattern: 'PubSub', code: 'ERR_PUBSUB_PATTERN', message });
  }

  /**
   * Hears of every gap of a channel or pattern, whichever subscription has it.
   *
   * @returns ends that
   * @throws InvalidOptionsError for a listener that is no function
   */
  watchGaps(channel: Channel | ChannelPattern, listener: GapListener, name = 'PubSubService.watchGaps()'): () => void {
    if (typeof listener !== 'function') {
      throw new InvalidOptionsError(name, [{ path: 'listener', message: 'must be a function' }]);
    }
    const { kind, name: channelName } = this.#target(channel, {}, name);
    const watch: GapWatch = { kind: kind === 'pattern' ? kind : 'channel', name: channelName, listener };
    this.#watches.add(watch);
    return () => this.#watches.delete(watch);
  }

  /**
   * Ends all subscriptions: nothing more is heard; what has come is handled, for `drainTimeout` at most. Publishing goes on.
   * Final and idempotent.
   */
  drain(): Promise<void> {
    this.#draining ??= Promise.all([...this.#subscriptions].map((subscription) => subscription.close())).then(
      () => undefined,
    );
    return this.#draining;
  }

  /** Whether {@link drain} has begun. */
  get draining(): boolean {
    return this.#draining !== undefined;
  }

  /** {@link drain}; the module calls it before the connections close. */
  close(): Promise<void> {
    return this.drain();
  }

  #open(
    channel: Channel | ChannelPattern,
    handler: PubSubHandler,
    settings: ReturnType<typeof resolveSubscription>,
    name: string,
    onGap: GapListener | undefined,
  ): Subscription {
    const target = this.#target(channel, settings, name);
    if (this.#draining !== undefined) throw new PubSubSubscribeError(target.name, 'the application stops');
    const { maxPending, overflow, concurrency, drainTimeout } = this.options;
    const subscription = new Subscription({
      context: this.context,
      book: this.#book,
      target,
      name,
      handler,
      maxPending: settings.maxPending ?? maxPending,
      overflow: settings.overflow ?? overflow,
      concurrency: settings.concurrency ?? concurrency,
      drainTimeout,
      gapListeners: () => [...(onGap === undefined ? [] : [onGap]), ...this.#gapListeners(target)],
    });
    this.#subscriptions.add(subscription);
    subscription.onClosed(() => this.#subscriptions.delete(subscription));
    return subscription;
  }

  #target(
    channel: Channel | ChannelPattern,
    { delivery, sharded }: ReturnType<typeof resolveSubscription>,
    where: string,
  ): Target {
    const given = { delivery, sharded };
    return isPattern(channel) ? this.#book.pattern(channel, given, where) : this.#book.channel(channel, given, where);
  }

  #gapListeners({ kind, name }: Target): GapListener[] {
    return [...this.#watches]
      .filter((watch) => watch.name === name && (watch.kind === 'pattern') === (kind === 'pattern'))
      .map(({ listener }) => listener);
  }

  #notConfirmed(channel: string, error: unknown, timeout: number | undefined): PubSubSubscribeError {
    if (timeout !== undefined) {
      return new PubSubSubscribeError(
        channel,
        `Redis has not confirmed it within ${timeout} ms; look at the connection, or raise 'timeout'`,
        error,
      );
    }
    const text = error instanceof Error ? error.message : String(error);
    return new PubSubSubscribeError(
      channel,
      error instanceof RedisUnavailableError ? 'the connection is closed' : text,
      error,
    );
  }
}

function isPattern(channel: Channel | ChannelPattern): channel is ChannelPattern {
  return typeof channel === 'object' && !Array.isArray(channel) && channel !== null && 'pattern' in channel;
}

/** @throws InvalidOptionsError unless a decorator was given a channel or a pattern */
export function checkChannel(channel: unknown, where: string): asserts channel is Channel | ChannelPattern {
  const fits = typeof channel === 'string' || Array.isArray(channel) || isPattern(channel as Channel);
  if (fits && channel !== '') return;
  throw new InvalidOptionsError(where, [
    { path: '', message: "needs a channel such as 'stock' or ['stock', 'eu'], or { pattern: 'stock:*' }" },
  ]);
}
