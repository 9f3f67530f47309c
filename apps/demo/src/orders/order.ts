import { ApiProperty } from '@nestjs/swagger';
import { defineStream } from 'nestjs-redis-patterns';

export class NewOrder {
  @ApiProperty({ example: 1 })
  productId!: number;
}

export class Order {
  @ApiProperty()
  id!: string;

  @ApiProperty()
  productId!: number;

  @ApiProperty({ enum: ['placed', 'fulfilled'] })
  status!: 'placed' | 'fulfilled';

  @ApiProperty({ description: 'Process that took the order' })
  takenBy!: number;

  @ApiProperty({ required: false, description: 'Process that packed it' })
  packedBy?: number;
}

/** What happens to orders. Whoever consumes it gets every event at least once. */
export const orderEvents = defineStream<{ placed: { orderId: string; productId: number } }>({ name: 'orders' });
