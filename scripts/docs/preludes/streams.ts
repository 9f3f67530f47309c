import { z as zod } from 'zod';
import type { PublishItem, StreamAdmin, StreamProducer, StreamRuntime } from 'nestjs-redis-patterns';

/** What the consumers of the example call. */
export declare class Invoices {
  create(orderId: string, options: { idempotencyKey: string; signal: AbortSignal }): Promise<void>;
}
export declare class SearchIndex {
  bulk(bodies: readonly unknown[]): Promise<number[]>;
}
export declare class Ledger {
  append(account: string | undefined, booking: unknown, options: { idempotencyKey: string }): Promise<void>;
}

export const z = zod;
export declare const producer: StreamProducer;
export declare const runtime: StreamRuntime;
export declare const admin: StreamAdmin;
export declare const items: (PublishItem<{ orderId: string }, 'placed'> & { type: 'placed' })[];
export declare const payment: { amount: number };
export declare const letter: { id: string };
export declare function bill(body: unknown, messageId: string): Promise<void>;
