import type { PublishItem, StreamAdmin, StreamProducer, StreamRuntime } from 'nestjs-redis-patterns';

/** What the billing of the example calls. */
export class Invoices {
  create(_orderId: string, _options: { idempotencyKey: string; signal: AbortSignal }): Promise<void> {
    return Promise.resolve();
  }
}

export declare const producer: StreamProducer;
export declare const runtime: StreamRuntime;
export declare const admin: StreamAdmin;
export declare const items: PublishItem[];
export declare function bill(body: unknown, messageId: string): Promise<void>;
