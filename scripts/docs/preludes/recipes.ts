export class Product {}
export class NewProduct {}
export class ListQuery {}
export class Price {}
export class Report {}
export class Credentials {}
export class Notification {}
export declare const user: { id: string };
export declare const id: string;
export class Order {
  id!: string;
}
export class NewOrder {
  productId!: string;
}

export declare class Products {
  list(query: ListQuery): Promise<Product[]>;
  prices(): Promise<Price[]>;
  create(product: NewProduct): Promise<Product>;
}
export declare class Reports {
  open(): Promise<string[]>;
  render(id: string, signal: AbortSignal): Promise<void>;
}
export declare class OrdersTable {
  insert(order: NewOrder, options: { fence: bigint | undefined }): Promise<Order>;
}
export declare class Invoices {
  create(orderId: string, options: { idempotencyKey: string }): Promise<void>;
}
export declare const plans: { limitOf(subject: string): number | undefined };
/** Of @nestjs/schedule. */
export declare function Cron(expression: string): MethodDecorator;
/** Of Express. */
export interface Request {
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly ip: string;
}
