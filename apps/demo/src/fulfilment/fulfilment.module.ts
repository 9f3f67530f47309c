import { Module } from '@nestjs/common';
import { OrdersModule } from '../orders/orders.module.js';
import { Carrier } from './carrier.js';
import { FulfilmentConsumer } from './fulfilment.consumer.js';
import { FulfilmentController } from './fulfilment.controller.js';

@Module({
  imports: [OrdersModule],
  controllers: [FulfilmentController],
  providers: [FulfilmentConsumer, Carrier],
})
export class FulfilmentModule {}
