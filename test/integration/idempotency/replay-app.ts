import {
  Controller,
  Headers as HeaderOf,
  Injectable,
  Post,
  UnauthorizedException,
  UseGuards,
  type CanActivate,
  type INestApplication,
} from '@nestjs/common';
import type { AbstractHttpAdapter } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { Idempotent, RateLimit, RateLimitService, RedisPatternsModule, type Policy } from 'nestjs-redis-patterns';
import { clientOf, Gate } from '../rate-limit/contexts-app.js';

/** Runs when a request has been charged, and before its record is looked for. */
@Injectable()
export class Between implements CanActivate {
  hook: (() => Promise<unknown>) | undefined;

  async canActivate(): Promise<boolean> {
    await this.hook?.();
    return true;
  }
}

/** In another slot than the client. */
const shopOf = (context: unknown): string => `shop of ${clientOf(context)}`;

@Controller()
class Handlers {
  #runs = 0;

  constructor(private readonly gate: Gate) {}

  @Post('order')
  @Idempotent()
  @UseGuards(Between)
  @RateLimit(['fixed', 'sliding', 'log', 'bucket'], { by: clientOf })
  @RateLimit('shop', { by: shopOf, cost: 3 })
  order(): string {
    return `order ${++this.#runs}`;
  }

  @Post('note')
  @RateLimit('shop', { by: clientOf })
  @Idempotent()
  async note(@HeaderOf('x-slow') slow: string | undefined): Promise<string> {
    if (slow !== undefined) await this.gate.pass();
    return 'noted';
  }

  @Post('export')
  @Idempotent()
  @RateLimit(['exports', 'shop'], { by: clientOf })
  async export(@HeaderOf('x-slow') slow: string | undefined): Promise<string> {
    if (slow !== undefined) await this.gate.pass();
    return 'exported';
  }

  @Post('login')
  @Idempotent({ store: '4xx' })
  @RateLimit('login', { by: clientOf, countWhen: 'failure' })
  @RateLimit('shop', { by: shopOf })
  login(@HeaderOf('x-password') password: string): string {
    if (password === 'wrong') throw new UnauthorizedException();
    return 'welcome';
  }
}

const twice = { limit: 2, window: '10m' } as const;
const policies: Record<string, Policy> = {
  fixed: { ...twice, algorithm: 'fixed-window' },
  sliding: { ...twice, algorithm: 'sliding-window' },
  log: { ...twice, algorithm: 'sliding-log' },
  bucket: { ...twice, algorithm: 'token-bucket' },
  shop: { limit: 20, window: '10m' },
  login: { limit: 5, window: '10m' },
  exports: { algorithm: 'concurrency', limit: 2, lease: '30s' },
};

export const FRAMEWORKS = ['express', 'fastify'] as const;

export interface Answer {
  readonly status: number;
  readonly isReplay: boolean;
  readonly text: string;
}

/** Handlers that are limited and idempotent, and listen. */
export class ReplayApp {
  private constructor(
    private readonly app: INestApplication,
    private readonly url: string,
  ) {}

  /** @param setup `limits` is the connection for the limits alone, by default the one for all */
  static async open(
    framework: (typeof FRAMEWORKS)[number],
    { namespace, connection, limits = connection }: { namespace: string; connection: object; limits?: object },
  ): Promise<ReplayApp> {
    const built = await Test.createTestingModule({
      imports: [
        RedisPatternsModule.forRoot({
          namespace,
          connections: { default: connection as never, limits: limits as never },
          rateLimit: { connection: 'limits', deadline: '5s', blockCache: false, policies },
        }),
      ],
      controllers: [Handlers],
      providers: [Between, Gate],
    }).compile();
    const adapter = framework === 'express' ? new ExpressAdapter() : new FastifyAdapter();
    const app = built.createNestApplication(adapter as AbstractHttpAdapter, { logger: false });
    await app.listen(0, '127.0.0.1');
    return new ReplayApp(app, await app.getUrl());
  }

  get between(): Between {
    return this.app.get(Between);
  }

  get gate(): Gate {
    return this.app.get(Gate);
  }

  /** @param key of the client alone; empty for none */
  async post(path: string, client: string, key: string, more: Record<string, string> = {}): Promise<Answer> {
    const { body, ...headers } = { body: '{}', ...more };
    const own = key === '' ? '' : `${key} of ${client}`;
    const answer = await fetch(`${this.url}/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-client': client, 'idempotency-key': own, ...headers },
      body,
    });
    const isReplay = answer.headers.get('idempotent-replayed') === 'true';
    return { status: answer.status, isReplay, text: await answer.text() };
  }

  /** What has been taken from a policy; `shop` stands for the subject `shopOf`. */
  async taken(policy: string, client: string, { ofShop = false } = {}): Promise<number> {
    const subject = `${ofShop ? 'shop of ' : ''}http:${client}`;
    const [result] = (await this.app.get(RateLimitService).peek(policy, subject)).policies;
    return policies[policy]!.limit - result!.remaining;
  }

  close(): Promise<void> {
    // A test that failed may have left requests behind, for which it would wait.
    this.gate.open();
    return this.app.close();
  }
}
