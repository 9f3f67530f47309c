import { randomUUID as uuid } from 'node:crypto';
import type { PubSubService } from 'nestjs-redis-patterns';

export interface Stock {
  productId: number;
  stock: number;
}
/** Where the stock is. */
export declare class Products {
  allStock(): Promise<Map<number, Stock>>;
}
interface Row {
  id: string;
  stream: string;
  type: string;
  payload: object;
}
/** Of the library for the database. */
export declare class Database {
  transaction(work: (tx: { insert(table: unknown, row: object): Promise<void> }) => Promise<void>): Promise<void>;
  query(sql: string, values?: unknown[]): Promise<Row[]>;
}

export const randomUUID = uuid;
export declare const pubsub: PubSubService;
export declare const productId: number;
export declare function show(stock: Stock): void;
export declare function reload(gap: unknown): void;
export declare const orders: unknown;
export declare const order: { id: string };
export declare const outbox: unknown;
export declare const db: Database;
/** Of @nestjs/schedule. */
export declare function Interval(ms: number): MethodDecorator;
