import { Injectable } from '@nestjs/common';
import { InjectRedis, type RedisClient } from 'nestjs-redis-patterns';
import type { Order } from './order.js';

/** Orders are kept for a day. */
const DAY_IN_SECONDS = 86_400;

/** The orders' part of the shop's database. */
@Injectable()
export class OrdersRepository {
  constructor(@InjectRedis() private readonly redis: RedisClient) {}

  async save(order: Order): Promise<void> {
    await this.redis.set(`shop:demo:order:${order.id}`, JSON.stringify(order), 'EX', DAY_IN_SECONDS);
  }

  async fulfil(order: Order): Promise<void> {
    await this.save(Object.assign({}, order, { status: 'fulfilled', packedBy: process.pid } as const));
  }

  async find(id: string): Promise<Order | null> {
    const text = await this.redis.get(`shop:demo:order:${id}`);
    return text === null ? null : (JSON.parse(text) as Order);
  }
}
