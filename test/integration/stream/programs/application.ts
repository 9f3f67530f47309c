// An application whose handlers use databases of other modules, until SIGTERM ends it.
import 'reflect-metadata';
import { Global, Inject, Injectable, Module, type OnApplicationShutdown, type OnModuleDestroy } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  MessageBody,
  MessageContext,
  RedisPatternsModule,
  StreamConsumer,
  StreamRuntime,
  type StreamContext,
} from 'nestjs-redis-patterns';
import { onParent, programData, tellParent } from '../../../support/parent.js';
import type { PlainConnection } from '../../../support/topologies.js';

export interface ApplicationSetup {
  readonly connection: PlainConnection;
  readonly namespace: string;
  readonly drainTimeout: number;
  /** When a handler ends: the spec says so, or its signal. */
  readonly ends: 'told' | 'aborted';
}

const { connection, namespace, drainTimeout, ends } = programData<ApplicationSetup>();
const told = new Promise<void>((resolve) => onParent('finish', () => resolve()));

class Database {
  #open = true;
  constructor(private readonly name: string) {}
  query(): boolean {
    return this.#open;
  }
  async close(): Promise<void> {
    this.#open = false;
    await tellParent({ type: 'closed', name: this.name });
  }
}

@Injectable()
class Orders extends Database implements OnModuleDestroy {
  constructor() {
    super('orders');
  }
  onModuleDestroy(): Promise<void> {
    return this.close();
  }
}

@Injectable()
class Audit extends Database implements OnApplicationShutdown {
  constructor() {
    super('audit');
  }
  onApplicationShutdown(): Promise<void> {
    return this.close();
  }
}

@Module({ providers: [Orders], exports: [Orders] })
class OrdersModule {}

@Global()
@Module({ providers: [Audit], exports: [Audit] })
class AuditModule {}

@Injectable()
class Billing {
  constructor(
    @Inject(Orders) private readonly orders: Orders,
    @Inject(Audit) private readonly audit: Audit,
  ) {}

  @StreamConsumer({ stream: 'work', group: 'g', concurrency: 2, prefetch: 3, lease: '30s', block: 5000 })
  async bill(@MessageBody() body: unknown, @MessageContext() ctx: StreamContext): Promise<void> {
    await tellParent({ type: 'begin', body });
    if (ends === 'aborted') await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve));
    else await told;
    const reason = (ctx.signal.reason as { code?: string } | undefined)?.code;
    await tellParent({ type: 'end', body, reason, open: this.orders.query() && this.audit.query() });
    ctx.signal.throwIfAborted();
  }
}

@Module({ imports: [OrdersModule], providers: [Billing] })
class BillingModule {}

@Module({
  imports: [
    AuditModule,
    BillingModule,
    RedisPatternsModule.forRoot({ namespace, connection, stream: { drainTimeout } }),
  ],
})
class Root {}

const app = await NestFactory.createApplicationContext(Root, { logger: ['error', 'warn'] });
app.enableShutdownHooks(['SIGTERM']);
await tellParent({ type: 'ready', state: app.get(StreamRuntime).state });
