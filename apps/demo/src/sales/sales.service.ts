import { Injectable } from '@nestjs/common';
import {
  FeedService,
  LeaderboardService,
  type Feed,
  type FeedEntry,
  type Leaderboard,
  type LeaderboardEntry,
} from 'nestjs-redis-patterns';
import type { Product } from '../products/product.js';

export interface SoldProduct {
  readonly name: string;
}

export interface Sale {
  readonly productId: number;
  readonly name: string;
}

@Injectable()
export class SalesService {
  readonly #bestSellers: Leaderboard<SoldProduct>;
  readonly #orders: Feed<Sale>;

  constructor(leaderboards: LeaderboardService, feeds: FeedService) {
    this.#bestSellers = leaderboards.board('best-sellers', { update: 'sum', bucket: 'week', ttl: '30d' });
    this.#orders = feeds.feed('orders', { max: 500 });
  }

  /** To do it again does no harm: the board knows the order, and the feed has one entry for it. */
  async sold(orderId: string, { id, name }: Product): Promise<void> {
    await this.#bestSellers.submit(String(id), 1, { name }, { opId: orderId });
    await this.#orders.push({ productId: id, name }, { id: orderId });
  }

  bestSellers(): Promise<LeaderboardEntry<SoldProduct>[]> {
    return this.#bestSellers.top(10);
  }

  around(productId: number): Promise<LeaderboardEntry<SoldProduct>[]> {
    return this.#bestSellers.around(String(productId), { size: 5 });
  }

  orders(before?: string): Promise<FeedEntry<Sale>[]> {
    return this.#orders.page({ size: 10, ...(before === undefined ? {} : { before }) });
  }
}
