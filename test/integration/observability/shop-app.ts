import {
  Injectable,
  Module,
  type DynamicModule,
  type INestApplicationContext,
  type LoggerService,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { trace } from '@opentelemetry/api';
import {
  Cacheable,
  CacheService,
  IdempotencyService,
  LockService,
  MessageBody,
  RateLimitService,
  RedisPatternsModule,
  StreamConsumer,
  StreamProducer,
  WithLock,
  type RedisPatternsOptions,
} from 'nestjs-redis-patterns';
import type { SharedTopology } from '../../support/topologies.js';

const PATIENCE = '5s';

/** What a message of the shop can ask for. */
export interface Order {
  readonly id: string;
  readonly fail?: boolean;
}

/** Work of the application itself, with a span of its own. */
function work(name: string): string {
  return trace.getTracer('shop').startActiveSpan(name, (span) => {
    span.end();
    return name;
  });
}

@Injectable()
export class Shop {
  readonly handled: Order[] = [];

  @Cacheable({ key: (id: string) => ['product', id], ttl: '1m' })
  async find(id: string): Promise<string> {
    return `${work('select product')} ${id}`;
  }

  @WithLock({ key: (id: string) => ['stock', id], wait: '2s' })
  async reserve(_id: string): Promise<string> {
    return work('update stock');
  }

  @StreamConsumer({
    stream: 'orders',
    group: 'billing',
    block: 200,
    retry: { attempts: 2, backoff: { base: 5, max: 10 } },
  })
  async bill(@MessageBody() order: Order): Promise<void> {
    work('insert invoice');
    await Promise.resolve();
    this.handled.push(order);
    if (order.fail === true) throw new Error(`cannot bill ${order.id}`);
  }
}

/** One application with the library, and what a spec uses of it. */
export interface ShopApp {
  readonly app: INestApplicationContext;
  readonly shop: Shop;
  readonly cache: CacheService;
  readonly locks: LockService;
  readonly limits: RateLimitService;
  readonly producer: StreamProducer;
  readonly idempotency: IdempotencyService;
}

export interface ShopSetup {
  readonly options?: Partial<RedisPatternsOptions>;
  /** `RedisPatternsMetricsModule.forRoot()` and the like. */
  readonly imports?: readonly DynamicModule[];
  readonly providers?: NonNullable<DynamicModule['providers']>;
  readonly logger?: LoggerService;
}

/** Boots it. Whoever does so closes `app`. */
export async function openShop(
  { connection, namespace }: Pick<SharedTopology, 'connection' | 'namespace'>,
  { options, imports = [], providers = [], logger }: ShopSetup = {},
): Promise<ShopApp> {
  @Module({
    imports: [
      RedisPatternsModule.forRoot({
        namespace,
        // So patient that a busy machine changes no outcome.
        connection: { commandTimeout: PATIENCE, ...connection },
        cache: { operationTimeout: PATIENCE },
        rateLimit: {
          deadline: PATIENCE,
          policies: { api: { algorithm: 'fixed-window', limit: 2, window: '1d' } },
        },
        ...options,
      }),
      ...imports,
    ],
    providers: [Shop, ...providers],
  })
  class Root {}
  const app = await NestFactory.createApplicationContext(Root, { logger: logger ?? false, abortOnError: false });
  return {
    app,
    shop: app.get(Shop),
    cache: app.get(CacheService),
    locks: app.get(LockService),
    limits: app.get(RateLimitService),
    producer: app.get(StreamProducer),
    idempotency: app.get(IdempotencyService),
  };
}
