import {
  Body,
  Controller,
  Delete,
  Get,
  Module,
  Post,
  Req,
  Res,
  UseGuards,
  type INestApplication,
  type MiddlewareConsumer,
  type NestModule,
} from '@nestjs/common';
import type { AbstractHttpAdapter } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import {
  CurrentSession,
  RedisPatternsModule,
  SessionCookie,
  SessionCookieMiddleware,
  SessionGuard,
  SessionService,
  type Session,
  type SessionOptions,
} from 'nestjs-redis-patterns';

type Request = Parameters<SessionCookie['get']>[0];
type Reply = Parameters<SessionCookie['set']>[0];

interface Cart {
  readonly items: string[];
}

@Controller()
class ShopController {
  constructor(
    private readonly sessions: SessionService,
    private readonly cookie: SessionCookie,
  ) {}

  @Post('login')
  async login(@Body() { name }: { name: string }, @Req() request: Request, @Res({ passthrough: true }) reply: Reply) {
    const guest = this.cookie.get(request);
    const rotated = guest === undefined ? undefined : await this.sessions.rotate(guest, { principal: name });
    const { id } = rotated ?? (await this.sessions.create<Cart>({ items: [] }, { principal: name }));
    this.cookie.set(reply, id);
    return { rotated: rotated !== undefined };
  }

  @Post('cart')
  async cart(@Body() { item }: { item: string }, @Res({ passthrough: true }) reply: Reply) {
    const { id } = await this.sessions.create<Cart>({ items: [item] });
    this.cookie.set(reply, id);
    return {};
  }

  @Get('me')
  @UseGuards(SessionGuard)
  me(@CurrentSession() session: Session<Cart>, @CurrentSession() again: Session<Cart>) {
    return { principal: session.principal, items: session.data.items, same: session === again };
  }

  @Get('home')
  home(@CurrentSession() session: Session<Cart> | undefined) {
    return { known: session !== undefined };
  }

  @Get('bare')
  bare(@CurrentSession() session: Session<Cart> | undefined) {
    return { known: session !== undefined };
  }

  @Delete('login')
  async logout(@Req() request: Request, @Res({ passthrough: true }) reply: Reply) {
    const ended = await this.sessions.destroy(this.cookie.get(request) ?? '');
    this.cookie.clear(reply);
    return { ended };
  }
}

export interface HttpApp {
  readonly app: INestApplication;
  readonly sessions: SessionService;
  call(method: string, path: string, options?: { cookie?: string; body?: object }): Promise<Answer>;
}

export interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly setCookie: string | null;
  /** Name and value of the cookie that was set. */
  readonly cookie: string;
}

/** A shop on one framework, listening. Whoever opens it closes it. */
export async function openHttpApp(
  adapter: AbstractHttpAdapter,
  { namespace, connection }: { namespace: string; connection: object },
  session: SessionOptions = {},
): Promise<HttpApp> {
  @Module({
    imports: [RedisPatternsModule.forRoot({ namespace, connection: connection as never, session })],
    controllers: [ShopController],
  })
  class ShopModule implements NestModule {
    configure(consumer: MiddlewareConsumer): void {
      consumer.apply(SessionCookieMiddleware).forRoutes('home');
    }
  }

  const built = await Test.createTestingModule({ imports: [ShopModule] }).compile();
  const app = built.createNestApplication(adapter, { logger: false });
  await app.listen(0, '127.0.0.1');
  const url = await app.getUrl();
  return {
    app,
    sessions: app.get(SessionService),
    call: async (method, path, { cookie, body } = {}) => {
      const sent = method === 'POST' ? JSON.stringify(body ?? {}) : undefined;
      const headers: Record<string, string> = sent === undefined ? {} : { 'content-type': 'application/json' };
      if (cookie !== undefined) headers.cookie = cookie;
      const response = await fetch(`${url}${path}`, { method, headers, ...(sent !== undefined && { body: sent }) });
      const setCookie = response.headers.get('set-cookie');
      return {
        status: response.status,
        body: await response.json(),
        setCookie,
        cookie: setCookie?.split(';')[0] ?? '',
      };
    },
  };
}
