import { Module } from '@nestjs/common';
import { OrdersModule } from '../orders/orders.module.js';
import { FulfilmentConsumer } from './fulfilment.consumer.js';

@Module({ imports: [OrdersModule], providers: [FulfilmentConsumer] })
export class FulfilmentModule {}
