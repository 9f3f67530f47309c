// Sessions: a login sets a cookie, a guard knows whose it is, and after the logout it is worth nothing.
import 'reflect-metadata';
import { strict as assert } from 'node:assert';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Body, Controller, Get, Module, Post, Req, Res, UseGuards } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  CurrentSession,
  RedisPatternsModule,
  SessionCookie,
  SessionGuard,
  SessionService,
  type Session,
} from 'nestjs-redis-patterns';

interface Visit {
  readonly device: string;
}

@Controller()
class AccountController {
  constructor(
    private readonly sessions: SessionService,
    private readonly cookie: SessionCookie,
  ) {}

  // An application looks at the password first.
  @Post('login')
  async login(@Body('user') user: string, @Res({ passthrough: true }) response: ServerResponse): Promise<void> {
    const { id } = await this.sessions.create<Visit>({ device: 'laptop' }, { principal: user });
    this.cookie.set(response, id);
  }

  @Get('me')
  @UseGuards(SessionGuard)
  me(@CurrentSession() session: Session<Visit>): object {
    return { user: session.principal, device: session.data.device };
  }

  @Post('logout')
  async logout(@Req() request: IncomingMessage, @Res({ passthrough: true }) response: ServerResponse): Promise<void> {
    await this.sessions.destroy(this.cookie.get(request) ?? '');
    this.cookie.clear(response);
  }
}

@Module({
  imports: [
    RedisPatternsModule.forRoot({
      namespace: `example-sessions-${process.pid}`,
      connection: process.env.REDIS_URL ?? 'redis://127.0.0.1:6379',
      session: { cookie: { name: 'sid', secure: false } }, // without TLS
    }),
  ],
  controllers: [AccountController],
})
class AppModule {}

async function main(): Promise<void> {
  const app = await NestFactory.create(AppModule, { logger: ['error', 'warn'] });
  await app.listen(0, '127.0.0.1');
  const url = await app.getUrl();
  const me = (cookie: string) => fetch(`${url}/me`, { headers: { cookie } });

  assert.equal((await me('')).status, 401);
  const login = await fetch(`${url}/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ user: 'ada' }),
  });
  const cookie = login.headers.get('set-cookie')?.split(';')[0] ?? '';
  assert.deepEqual(await (await me(cookie)).json(), { user: 'ada', device: 'laptop' });
  console.log('logged in: the guard knows who it is');

  await fetch(`${url}/logout`, { method: 'POST', headers: { cookie } });
  assert.equal((await me(cookie)).status, 401);
  console.log('logged out: the same cookie is refused');
  await app.close();
}

void main();
