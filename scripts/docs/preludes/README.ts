export class Product {
  id!: number;
}
export class NewOrder {
  productId!: number;
}
export class Order {
  id!: string;
}
/** Where the stock is. */
export class StockRows {
  takeOne(_productId: number): Promise<Order> {
    throw new Error();
  }
}
/** Of @nestjs/config. */
export class ConfigService {
  getOrThrow<T>(_name: string): T {
    throw new Error();
  }
}
