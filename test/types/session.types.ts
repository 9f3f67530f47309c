// Checked by the compiler: what docs/sessions.md shows.
import {
  Body,
  Controller,
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
import fastifyCookie from '@fastify/cookie';
import fastifySession from '@fastify/session';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Request, Response } from 'express';
import session from 'express-session';
import {
  CurrentSession,
  RedisPatternsModule,
  SessionCookie,
  SessionCookieMiddleware,
  SessionGuard,
  SessionService,
  type Session,
  type TokenService,
} from 'nestjs-redis-patterns';
import { RedisSessionStore, RedisSessionStoreModule } from 'nestjs-redis-patterns/express-session';

interface LoginForm {
  readonly device: string;
}
interface Visit {
  readonly device: string;
}
interface Me extends Visit {
  readonly userId: string | undefined;
}
interface Cart {
  readonly items: number[];
  readonly coupon?: string;
}
interface Reset {
  readonly userId: number;
}

@Controller()
export class AccountController {
  private readonly users: { check(form: LoginForm): Promise<{ id: number }> };

  constructor(
    private readonly sessions: SessionService,
    private readonly cookie: SessionCookie,
  ) {}

  @Post('login')
  async login(@Body() form: LoginForm, @Res({ passthrough: true }) response: Response): Promise<void> {
    const user = await this.users.check(form);
    const { id } = await this.sessions.create<Visit>({ device: form.device }, { principal: user.id });
    this.cookie.set(response, id);
  }

  @Get('me')
  @UseGuards(SessionGuard)
  me(@CurrentSession() current: Session<Visit>): Me {
    return { userId: current.principal, device: current.data.device };
  }

  @Post('logout')
  async logout(@Req() request: Request, @Res({ passthrough: true }) response: Response): Promise<void> {
    await this.sessions.destroy(this.cookie.get(request) ?? '');
    this.cookie.clear(response);
  }
}

export function onFastify(cookie: SessionCookie, request: FastifyRequest, reply: FastifyReply): void {
  cookie.set(reply, cookie.get(request) ?? '');
}

export async function byHand(sessions: SessionService, cookie: SessionCookie, response: Response): Promise<void> {
  const { id, session: begun } = await sessions.create<Cart>(
    { items: [] },
    { principal: 7, idle: '7d', absolute: '30d' },
  );
  await sessions.get<Cart>(id);
  await sessions.update<Cart>(id, { items: [42], coupon: undefined });
  await sessions.update<Cart>(id, { items: [43] }, { ifVersion: begun.version });
  // @ts-expect-error no such field
  await sessions.update<Cart>(id, { item: 42 });
  // @ts-expect-error a principal is a text or a number
  await sessions.create({}, { principal: { id: 7 } });
  for (const { handle } of await sessions.listByPrincipal(7)) await sessions.destroyHandle(handle);
  await sessions.destroyAllOf(7, { except: id });
  const rotated = await sessions.rotate(id, { principal: 7 });
  if (rotated) cookie.set(response, rotated.id);
}

export async function tokensByHand(tokens: TokenService): Promise<Reset | undefined> {
  const token = await tokens.issue('password-reset', { userId: 7 }, { ttl: '10m', principal: 7 });
  await tokens.verify<Reset>('password-reset', token);
  await tokens.revoke('password-reset', token);
  await tokens.revokeAll('password-reset', 7);
  return tokens.consume<Reset>('password-reset', token);
}

@Module({
  imports: [
    RedisPatternsModule.forRoot({ namespace: 'shop', connection: 'redis://127.0.0.1:6379' }),
    RedisSessionStoreModule.forRoot({ principal: ({ userId }) => userId as string | undefined }),
  ],
})
export class AppModule implements NestModule {
  configure(consumer: MiddlewareConsumer): void {
    consumer.apply(SessionCookieMiddleware).forRoutes('*');
  }
}

export async function stores(app: INestApplication, fastify: NestFastifyApplication, secret: string): Promise<void> {
  app.use(session({ store: app.get(RedisSessionStore), secret, resave: false, saveUninitialized: false }));
  await fastify.register(fastifyCookie);
  const store: RedisSessionStore = fastify.get(RedisSessionStore);
  await fastify.register(fastifySession, { store, secret, saveUninitialized: false });
}
