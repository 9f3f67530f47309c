import { Module } from '@nestjs/common';
import { RedisPatternsModule, type ConnectionOptions } from 'nestjs-redis-patterns';
import { FulfilmentModule } from './fulfilment/fulfilment.module.js';
import { OrdersModule } from './orders/orders.module.js';
import { ProductsModule } from './products/products.module.js';

/** What `npm run demo` has started or found: options or a URL, as JSON. */
function connection(): string | ConnectionOptions {
  const given = process.env.REDIS_PATTERNS_CONNECTION;
  return given === undefined ? 'redis://127.0.0.1:6379' : (JSON.parse(given) as string | ConnectionOptions);
}

@Module({
  imports: [
    RedisPatternsModule.forRoot({ namespace: 'shop', connection: connection() }),
    ProductsModule,
    OrdersModule,
    FulfilmentModule,
  ],
})
export class AppModule {}
