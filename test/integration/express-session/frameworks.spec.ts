import cookie from '@fastify/cookie';
import fastifySession from '@fastify/session';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Controller, Delete, Get, Module, Param, Post, Req, type INestApplication } from '@nestjs/common';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { ExpressAdapter } from '@nestjs/platform-express';
import { Test } from '@nestjs/testing';
import session from 'express-session';
import { RedisPatternsModule, SessionService } from 'nestjs-redis-patterns';
import { RedisSessionStore, RedisSessionStoreModule } from '../../../libs/redis-patterns/src/express-session/index.js';
import { describeOn } from '../../support/topologies.js';

const SECRET = 'a secret of more than thirty-two characters';

/** What both frameworks have. */
interface AppSession {
  userId?: string;
  fields?: string[];
  regenerate(done: (error?: unknown) => void): void;
  destroy(done: (error?: unknown) => void): void;
  [field: string]: unknown;
}
interface Request {
  session: AppSession;
}

const promise = (act: (done: (error?: unknown) => void) => void): Promise<void> =>
  new Promise((resolve, reject) => act((error) => (error ? reject(error as Error) : resolve())));

/** Holds the answers of slow requests back. */
const gates = new Map<string, { reached: () => void; open: Promise<void> }>();

@Controller()
class AppController {
  @Get()
  read(@Req() { session: { userId, ...rest } }: Request) {
    return { userId: userId ?? null, fields: Object.keys(rest).filter((name) => name.startsWith('f')) };
  }

  @Post('login/:id')
  async login(@Req() request: Request, @Param('id') id: string) {
    await promise((done) => request.session.regenerate(done));
    request.session.userId = id;
    return {};
  }

  @Post('field/:name')
  async field(@Req() request: Request, @Param('name') name: string) {
    request.session[name] = 1;
    const gate = gates.get(name);
    gate?.reached();
    await gate?.open;
    return {};
  }

  @Delete()
  async logout(@Req() request: Request) {
    await promise((done) => request.session.destroy(done));
    return {};
  }
}

async function openApp(
  framework: string,
  { namespace, connection }: { namespace: string; connection: object },
): Promise<INestApplication> {
  @Module({
    imports: [
      RedisPatternsModule.forRoot({ namespace, connection: connection as never }),
      RedisSessionStoreModule.forRoot({ principal: ({ userId }) => userId as string | undefined }),
    ],
    controllers: [AppController],
  })
  class AppModule {}
  const built = await Test.createTestingModule({ imports: [AppModule] }).compile();
  const options = { cookie: { secure: false, maxAge: 60_000 }, saveUninitialized: false };
  if (framework === 'Express') {
    const app = built.createNestApplication(new ExpressAdapter(), { logger: false });
    app.use(session({ ...options, store: app.get(RedisSessionStore), secret: SECRET, resave: false }));
    return app;
  }
  const app = built.createNestApplication<NestFastifyApplication>(new FastifyAdapter(), { logger: false });
  await app.register(cookie as never);
  await app.register(
    fastifySession as never,
    { ...options, store: app.get(RedisSessionStore), secret: SECRET } as never,
  );
  return app;
}

describeOn('standalone', 'the store in an application', { user: 'session' }, (topology) => {
  describe.each(['Express', 'Fastify'])('on %s', (framework) => {
    let app: INestApplication;
    let url: string;
    beforeAll(async () => {
      app = await openApp(framework, topology);
      await app.listen(0, '127.0.0.1');
      url = await app.getUrl();
    });
    afterAll(() => app?.close());

    async function call(method: string, path: string, cookie?: string) {
      const response = await fetch(`${url}${path}`, { method, headers: cookie === undefined ? {} : { cookie } });
      const sent = response.headers.get('set-cookie')?.split(';')[0];
      return { status: response.status, body: (await response.json()) as object, cookie: sent ?? cookie };
    }

    it('logs in with a new id, reads, and logs out for good', async () => {
      const guest = await call('POST', '/field/f1');
      expect(await call('GET', '/', guest.cookie)).toMatchObject({ body: { userId: null, fields: ['f1'] } });
      const user = `ada-${framework}`;
      const login = await call('POST', `/login/${user}`, guest.cookie);
      expect(login.cookie).not.toBe(guest.cookie);
      expect(await call('GET', '/', guest.cookie)).toMatchObject({ body: { userId: null, fields: [] } });
      expect(await call('GET', '/', login.cookie)).toMatchObject({ status: 200, body: { userId: user } });
      const sessions = app.get(SessionService);
      expect(await sessions.listByPrincipal(user)).toHaveLength(1);
      await call('DELETE', '/', login.cookie);
      expect(await call('GET', '/', login.cookie)).toMatchObject({ body: { userId: null } });
      expect(await sessions.listByPrincipal(user)).toEqual([]);
    });

    it('keeps what two requests change, and stays logged out when a slow one saves', async () => {
      const { cookie } = await call('POST', '/field/f0');
      const slow = async (name: string, meanwhile: () => Promise<unknown>): Promise<void> => {
        let open!: () => void;
        const reached = new Promise<void>((resolve) => {
          gates.set(name, { reached: resolve, open: new Promise((go) => (open = go)) });
        });
        const running = call('POST', `/field/${name}`, cookie);
        await reached;
        await meanwhile();
        open();
        expect((await running).status).toBe(201);
        gates.delete(name);
      };
      await slow('f1', () => call('POST', '/field/f2', cookie));
      const { body } = await call('GET', '/', cookie);
      expect((body as { fields: string[] }).fields.toSorted()).toEqual(['f0', 'f1', 'f2']);
      await slow('f3', () => call('DELETE', '/', cookie));
      expect(await call('GET', '/', cookie)).toMatchObject({ body: { fields: [] } });
    });
  });

  it('is an error of the request when Redis does not answer, and no empty session', async () => {
    const nowhere = { host: '127.0.0.1', port: 1, startup: 'background', commandTimeout: 200 };
    const app = await openApp('Express', { namespace: 'shop', connection: nowhere });
    try {
      await app.listen(0, '127.0.0.1');
      const cookie = `connect.sid=${encodeURIComponent(signed('some-session'))}`;
      const response = await fetch(await app.getUrl(), { headers: { cookie } });
      expect(response.status).toBe(503);
    } finally {
      await app.close();
    }
  });
});

function signed(sid: string): string {
  return `s:${new cookie.Signer(SECRET).sign(sid)}`;
}
