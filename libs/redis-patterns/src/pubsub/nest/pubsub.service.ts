import { Observable } from 'rxjs';
import { InvalidOptionsError } from '../../core/index.js';
import type { Channel, ChannelPattern } from '../channel-book.js';
import { PubSubEngine } from '../pubsub.engine.js';
import type { PubSubContext } from '../pubsub-context.js';
import type { SubscribeOptions } from '../pubsub.options.js';
import type { Subscription } from '../subscription.js';

/**
 * Broadcast over channels of Redis that says when it may have missed something.
 *
 * @example
 * ```ts
 * constructor(private readonly pubsub: PubSubService) {}
 *
 * await this.pubsub.publish(['stock', product.id], { stock: 3 });
 * const subscription = await this.pubsub.subscribe({ pattern: 'stock:*' }, (stock, { channel }) => this.show(channel, stock));
 * ```
 */
export class PubSubService extends PubSubEngine {
  /**
   * The payloads of a channel or pattern. Each subscriber listens by itself, from the moment that Redis has confirmed until it
   * unsubscribes; when the application stops, the Observable completes. With `map` it emits something else, such as the payload
   * with its channel.
   *
   * @param options as of `subscribe`; `onGap` hears what may be missing
   * @returns fails with what `subscribe` would reject with
   *
   * @example
   * ```ts
   * @Sse('stock')
   * stock(): Observable<MessageEvent> {
   *   return this.pubsub.observe<Stock>('stock').pipe(map((data) => ({ data })));
   * }
   * ```
   */
  observe<T = unknown>(
    channel: Channel | ChannelPattern,
    options: SubscribeOptions & { map?: (payload: unknown, context: PubSubContext) => T } = {},
  ): Observable<T> {
    const { map, ...settings } = options;
    if (map !== undefined && typeof map !== 'function') {
      throw new InvalidOptionsError('PubSubService.observe()', [{ path: 'map', message: 'must be a function' }]);
    }
    return new Observable<T>((observer) => {
      const left = new AbortController();
      let subscription: Subscription | undefined;
      const signal = settings.signal === undefined ? left.signal : AbortSignal.any([settings.signal, left.signal]);
      const emit = (payload: unknown, context: PubSubContext): void =>
        observer.next(map === undefined ? (payload as T) : map(payload, context));
      this.subscribe(channel, emit, { ...settings, signal }).then(
        (made) => {
          subscription = made;
          if (left.signal.aborted) void made.close();
          else made.onClosed(() => observer.complete());
        },
        (error: unknown) => {
          if (left.signal.aborted) return;
          if (this.draining) observer.complete();
          else observer.error(error);
        },
      );
      return () => {
        left.abort(new Error('nobody observes any more'));
        void subscription?.close();
      };
    });
  }
}
