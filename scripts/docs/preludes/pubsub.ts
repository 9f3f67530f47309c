import { randomUUID as uuid } from 'node:crypto';
import type { PubSubService } from 'nestjs-redis-patterns';

export interface Stock {
  productId: number;
  stock: number;
}
export const randomUUID = uuid;
export declare const pubsub: PubSubService;
export declare const productId: number;
export declare function show(stock: Stock): void;
export declare function reload(gap: unknown): void;
export declare const orders: unknown;
export declare const order: { id: string };
export declare const outbox: unknown;
// oxlint-disable-next-line typescript/no-explicit-any
export declare const db: any;
/** Of @nestjs/schedule. */
export declare function Interval(ms: number): MethodDecorator;
