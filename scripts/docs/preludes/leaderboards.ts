export class Order {
  readonly id!: string;
  readonly productId!: string;
  readonly name!: string;
}
