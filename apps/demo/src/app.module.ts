import { Module } from '@nestjs/common';
import { RedisPatternsModule, type ConnectionOptions } from 'nestjs-redis-patterns';
import { AccountsModule } from './accounts/accounts.module.js';
import { DashboardModule } from './dashboard/dashboard.module.js';
import { FulfilmentModule } from './fulfilment/fulfilment.module.js';
import { OrdersModule } from './orders/orders.module.js';
import { OperationsModule } from './operations/operations.module.js';
import { ProductsModule } from './products/products.module.js';
import { RedisController } from './redis/redis.controller.js';
import { SalesModule } from './sales/sales.module.js';
import { StocktakingModule } from './stocktaking/stocktaking.module.js';

/** What `npm run demo` has started or found: options or a URL, as JSON. */
function connection(): ConnectionOptions {
  const given = JSON.parse(process.env.REDIS_PATTERNS_CONNECTION ?? '"redis://127.0.0.1:6379"') as
    string | ConnectionOptions;
  // The shop writes its catalogue at boot: without Redis it has nothing to sell.
  return { ...(typeof given === 'string' ? { url: given } : given), startup: 'fail-fast' };
}

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
    SalesModule,
    OperationsModule,
    DashboardModule,
  ],
  controllers: [RedisController],
})
export class AppModule {}
