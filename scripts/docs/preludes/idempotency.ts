import type { IdempotencyService } from 'nestjs-redis-patterns';

export class NewOrder {}
export class Order {
  readonly id!: string;
}
export class PaymentEvent {
  readonly id!: string;
}
export class Receipt {}

export declare const idempotency: IdempotencyService;
export declare const order: Order;
export declare const hash: string;
export declare const bank: { pay(order: Order, options: { fence: bigint; signal: AbortSignal }): Promise<Receipt> };
