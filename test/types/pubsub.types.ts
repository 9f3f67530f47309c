// Checked by the compiler: what pub/sub accepts and what it refuses.
import {
  OnSubscriptionGap,
  Subscribe,
  type PubSubContext,
  type PubSubService,
  type Subscription,
  type SubscriptionGap,
} from 'nestjs-redis-patterns';
import type { Observable } from 'rxjs';

interface Stock {
  productId: number;
  amount: number;
}

export class Accepted {
  @Subscribe('stock')
  @Subscribe(['stock', 'eu', 7], { delivery: 'reliable', sharded: true })
  @Subscribe({ pattern: 'stock:*' }, { concurrency: 5, maxPending: 10, overflow: 'drop-newest' })
  handle(_stock: Stock, _context: PubSubContext): void {}

  @OnSubscriptionGap('stock')
  @OnSubscriptionGap({ pattern: 'stock:*' })
  async gap(_gap: SubscriptionGap): Promise<void> {}
}

export async function byHand(pubsub: PubSubService): Promise<void> {
  const subscription: Subscription = await pubsub.subscribe<Stock>(
    'stock',
    ({ amount }, { channel }) => [amount, channel],
    {
      onGap: ({ reason }) => reason === 'overflow',
      timeout: '1s',
    },
  );
  await subscription.close();
  await pubsub.publish(['stock', 7], { any: 'value' }, { delivery: 'reliable' });
  const seen: Observable<Stock> = pubsub.observe<Stock>('stock');
  const channels: Observable<string> = pubsub.observe({ pattern: '*' }, { map: (_, { channel }) => channel });
  void [seen, channels];

  // @ts-expect-error 'exactly-once' is no delivery
  await pubsub.subscribe('stock', () => undefined, { delivery: 'exactly-once' });
  // @ts-expect-error a channel is no number
  await pubsub.publish(7, 'payload');
  // @ts-expect-error a handler is required
  await pubsub.subscribe('stock');
}
