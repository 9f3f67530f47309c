import { Injectable } from '@nestjs/common';
import { MessageBody, OnSubscriptionGap, PubSubService, Subscribe } from 'nestjs-redis-patterns';

/** What every shop is told when the stock of a product changes. */
export interface StockChange {
  readonly productId: number;
  readonly stock: number;
}

/** Reliable, as `pubsub.channels` in the AppModule says: a shop that is cut off for a moment hears it later. */
const STOCK = 'stock';

/** What this process knows of the stock, without asking anybody: each shop tells all of them of a change. */
@Injectable()
export class StockBoard {
  readonly #stock = new Map<number, number>();

  constructor(private readonly pubsub: PubSubService) {}

  get(productId: number): number | undefined {
    return this.#stock.get(productId);
  }

  tell(change: StockChange): Promise<void> {
    return this.pubsub.publish(STOCK, change);
  }

  @Subscribe(STOCK)
  show(@MessageBody() { productId, stock }: StockChange): void {
    this.#stock.set(productId, stock);
  }

  /** Something may have been missed: better to know nothing than something old. */
  @OnSubscriptionGap(STOCK)
  forget(): void {
    this.#stock.clear();
  }
}
