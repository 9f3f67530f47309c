import { Module } from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { RedisPatternsModule } from 'nestjs-redis-patterns';
import { AccountsModule } from './accounts/accounts.module.js';
import { DashboardModule } from './dashboard/dashboard.module.js';
import { FulfilmentModule } from './fulfilment/fulfilment.module.js';
import { LockFilter } from './lock.filter.js';
import { OrdersModule } from './orders/orders.module.js';
import { OperationsModule } from './operations/operations.module.js';
import { ParcelsModule } from './parcels/parcels.module.js';
import { ProductsModule } from './products/products.module.js';
import { connection } from './redis/connection.js';
import { RedisController } from './redis/redis.controller.js';
import { SalesModule } from './sales/sales.module.js';
import { StocktakingModule } from './stocktaking/stocktaking.module.js';

@Module({
  imports: [
    // With copies in the memory of each process: Redis tells them of every change.
    RedisPatternsModule.forRoot({
      namespace: 'shop',
      connection: connection(),
      cache: { l1: true },
      // The shop speaks plain HTTP; behind TLS leave this out, and the cookie is '__Host-sid'.
      session: { cookie: { name: 'sid', secure: false } },
      pubsub: { channels: { stock: { delivery: 'reliable' } } },
    }),
    ProductsModule,
    OrdersModule,
    AccountsModule,
    StocktakingModule,
    FulfilmentModule,
    ParcelsModule,
    SalesModule,
    OperationsModule,
    DashboardModule,
  ],
  controllers: [RedisController],
  providers: [{ provide: APP_FILTER, useClass: LockFilter }],
})
export class AppModule {}
