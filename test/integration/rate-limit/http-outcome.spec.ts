import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import {
  Controller,
  Get,
  HttpCode,
  Injectable,
  Post,
  Req,
  UnauthorizedException,
  UseGuards,
  type CanActivate,
  type ExecutionContext,
} from '@nestjs/common';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { RateLimit } from '../../../libs/redis-patterns/src/rate-limit/nest/index.js';
import { eventually } from '../../support/eventually.js';
import { describeOnEachTopology } from '../../support/topologies.js';
import { clientOf, ContextsApp, Gate } from './contexts-app.js';

interface Request {
  headers: Record<string, string | undefined>;
  user?: object;
}

const headersOf = (context: ExecutionContext): Request['headers'] =>
  context.switchToHttp().getRequest<Request>().headers;

@Injectable()
class AuthGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const incoming = context.switchToHttp().getRequest<Request>();
    const id = incoming.headers['x-user'];
    if (id !== undefined) incoming.user = { id };
    return id !== 'intruder';
  }
}

@Controller()
class Handlers {
  constructor(private readonly gate: Gate) {}

  @Post('login')
  @HttpCode(200)
  @RateLimit('login', {
    by: clientOf,
    countWhen: 'failure',
    skipIf: async (context) => headersOf(context)['x-free'] === 'yes',
  })
  async login(): Promise<string> {
    return 'welcome';
  }

  /** Only one of the two counts failures. */
  @Post('order')
  @HttpCode(200)
  @RateLimit('login', { by: () => 'order', countWhen: 'failure' })
  @RateLimit('orders', { by: clientOf })
  order(): string {
    return 'ordered';
  }

  @Post('wrong')
  @RateLimit('login', { by: clientOf, countWhen: 'failure' })
  async wrong(): Promise<never> {
    throw new UnauthorizedException();
  }

  @Post('slow-login')
  @RateLimit('login', { by: clientOf, countWhen: 'failure' })
  async slowLogin(@Req() { socket }: { socket: Socket }): Promise<string> {
    await Promise.all([once(socket, 'close'), this.gate.pass()]);
    return 'welcome';
  }

  @UseGuards(AuthGuard)
  @Get('report')
  @RateLimit('reports', { by: clientOf })
  async report(): Promise<string> {
    await this.gate.pass();
    return 'report';
  }

  @Get('broken')
  @RateLimit('reports', { by: clientOf })
  broken(): never {
    throw new UnauthorizedException();
  }
}

/** The guard of the class is above, so that it runs after authentication, and knows the user. */
@RateLimit('user')
@UseGuards(AuthGuard)
@Controller('shop')
class ShopHandlers {
  @Get('mine')
  @RateLimit(['address', 'watched'])
  mine(): string {
    return 'mine';
  }

  @Get('list')
  list(): string {
    return 'list';
  }

  @Get('plan')
  @RateLimit('plan')
  plan(): string {
    return 'plan';
  }
}

describeOnEachTopology('how a limited request has ended', { user: 'rateLimit' }, (topology) => {
  let clients = 0;
  describe.each(['express', 'fastify'] as const)('on %s', (platform) => {
    let app: ContextsApp;
    let gate: Gate;
    beforeAll(async () => {
      app = await ContextsApp.start(topology, platform, {
        controllers: [Handlers, ShopHandlers],
        providers: [Gate],
        rateLimit: {
          ip: { trust: ['127.0.0.1', '10.0.0.0/8'] },
          deny: ['203.0.113.0/24'],
          denyStatus: 403,
          global: ['everyone'],
          policies: {
            everyone: { limit: 100, window: '1m', shadow: true, by: (context) => `all of ${clientOf(context)}` },
            login: { limit: 2, window: '1m' },
            orders: { limit: 5, window: '1m' },
            reports: { algorithm: 'concurrency', limit: 2, lease: '600ms' },
            user: { limit: 3, window: '1m', by: 'user', allow: ['user:admin'] },
            address: { limit: 2, window: '1m', deny: ['2001:db8:dead::/48'], denyStatus: 429 },
            watched: { limit: 1, window: '1m', shadow: true },
            plan: {
              limit: 1,
              window: '1m',
              by: 'user',
              resolve: ({ request }) => {
                const plan = headersOf(request as ExecutionContext)['x-plan'];
                return plan === 'none' ? null : plan === 'big' ? { limit: 5 } : {};
              },
            },
          },
        },
      });
      gate = app.app.get(Gate);
    });
    afterAll(() => app?.close());

    const newClient = (): string => `${platform}${++clients}`;
    const post = (path: string, client: string, more = {}) =>
      app.http(path, { 'x-client': client, ...more }, { method: 'POST' });
    const left = async (policy: string, client: string) => (await app.limits.peek(policy, `http:${client}`)).remaining;

    it('counts failures only, and lets no more of them run at once than the limit', async () => {
      const client = newClient();
      for (let call = 1; call <= 3; call++) {
        expect((await post('login', client)).status).toBe(200);
        await eventually(async () => expect(await left('login', client)).toBe(2));
      }
      const attempts = await Promise.all(Array.from({ length: 8 }, () => post('wrong', client)));
      expect(attempts.filter(({ status }) => status === 401)).toHaveLength(2);
      expect(attempts.filter(({ status }) => status === 429)).toHaveLength(6);
      expect((await post('login', client)).status).toBe(429);
      expect((await post('login', client, { 'x-free': 'yes' })).status).toBe(200);
      expect(await left('login', client)).toBe(0);
    });

    it('gives back only what counts failures', async () => {
      const client = newClient();
      for (let call = 1; call <= 3; call++) {
        expect((await post('order', client)).status).toBe(200);
        await eventually(async () => expect((await app.limits.peek('login', 'order')).remaining).toBe(2));
        expect(await left('orders', client)).toBe(5 - call);
      }
    });

    it('counts a client as failed that leaves before the answer', async () => {
      const client = newClient();
      const leaving = new AbortController();
      const init = { method: 'POST', signal: leaving.signal };
      const gone = app.http('slow-login', { 'x-client': client }, init).catch(() => 'gone');
      await eventually(() => expect(gate.waiting).toHaveLength(1));
      leaving.abort();
      expect(await gone).toBe('gone');
      gate.open();
      expect((await post('login', client)).status).toBe(200);
      await eventually(async () => expect(await left('login', client)).toBe(1));
    });

    it('holds a lease until the response ends, whichever way it ends', async () => {
      const client = newClient();
      const leaving = new AbortController();
      const get = (path: string, more = {}, init = {}) => app.http(path, { 'x-client': client, ...more }, init);
      const running = [get('report'), get('report', {}, { signal: leaving.signal }).catch(() => undefined)];
      await eventually(() => expect(gate.waiting).toHaveLength(2));
      const refused = await get('report');
      expect(refused.status).toBe(429);
      expect(refused.body).toMatchObject({ detail: expect.stringContaining("'reports' is exceeded (2 at a time)") });
      expect(refused.headers!.get('retry-after')).toMatch(/^[1-9]\d*$/);
      expect(refused.headers!.get('ratelimit-policy')).toBe('"reports";q=2;qu="concurrent-requests"');
      expect(refused.headers!.get('ratelimit')).toBe('"reports";r=0');
      // Longer than a lease: it is extended.
      const key = `${topology.namespace}:ratelimit:reports:{http:${client}}`;
      const [lease] = (await topology.admin.client.zrange(key, '0', '0')) as string[];
      const score = async () => Number(await topology.admin.client.zscore(key, lease!));
      const first = await score();
      await eventually(async () => expect(await score()).toBeGreaterThan(first + 600));
      expect((await get('report')).status).toBe(429);
      leaving.abort();
      await eventually(async () => expect(await left('reports', client)).toBe(1));
      gate.open();
      expect((await running[0])!.body).toBe('report');
      await eventually(async () => expect(await left('reports', client)).toBe(2));
      for (let call = 1; call <= 4; call++) {
        expect((await get('broken')).status).toBe(401);
        expect((await get('report', { 'x-user': 'intruder' })).status).toBe(403);
        await eventually(async () => expect(await left('reports', client)).toBe(2));
      }
    });

    it('gives the leases back of pipelined requests whose connection is cut', async () => {
      const client = newClient();
      const [host, port] = app.url.split(':');
      const socket = connect(Number(port), host);
      await once(socket, 'connect');
      const message = `GET /report HTTP/1.1\r\nHost: x\r\nX-Client: ${client}\r\n\r\n`;
      socket.write(message + message);
      await eventually(() => expect(gate.waiting).toHaveLength(2));
      expect(await left('reports', client)).toBe(0);
      socket.destroy();
      await eventually(async () => expect(await left('reports', client)).toBe(2));
      gate.open();
    });

    it('counts the user and the address in one request, all or none, and a shadow policy for nobody', async () => {
      const mine = (user: string, ip: string) => app.http('shop/mine', { 'x-user': user, 'x-forwarded-for': ip });
      const [user, other] = [newClient(), newClient()];
      const [ip, next] = [`198.51.100.${clients}`, `192.0.2.${clients}`];
      const first = await mine(user, ip);
      expect(first.headers!.get('ratelimit')).toMatch(/^"address";r=1;t=\d\d, "user";r=2;t=\d\d$/);
      expect((await mine(user, ip)).status).toBe(200);
      const refused = await mine(user, ip);
      expect([refused.status, refused.body]).toEqual([
        429,
        expect.objectContaining({ 'violated-policies': ['address'] }),
      ]);
      expect((await app.limits.peek('user', `user:${user}`)).remaining).toBe(1);
      expect((await mine(user, next)).status).toBe(200);
      expect((await mine(user, next)).body).toMatchObject({ 'violated-policies': ['user'] });
      expect((await app.limits.peek('address', `ip:${next}`)).remaining).toBe(1);
      expect((await mine(other, next)).status).toBe(200);
      // Where the class decides, its guards have run as well.
      const listed = newClient();
      const list = await app.http('shop/list', { 'x-user': listed, 'x-forwarded-for': next, 'x-client': listed });
      expect((await app.limits.peek('everyone', `all of http:${listed}`)).policies).toMatchObject([{ remaining: 99 }]);
      expect(list.headers!.get('ratelimit')).toMatch(/^"user";r=2;t=\d\d$/);
      expect((await app.limits.peek('user', `user:${listed}`)).remaining).toBe(2);
    });

    it('tells the address by the proxies it trusts, and looks it up in the lists, whomever the policy counts', async () => {
      const mine = async (user: string, forwarded: string) => {
        const { status, headers, body } = await app.http('shop/mine', { 'x-user': user, 'x-forwarded-for': forwarded });
        return { status, body, retryAfter: headers!.get('retry-after'), shown: headers!.get('ratelimit') };
      };
      const denied = { retryAfter: null, shown: null };
      const user = newClient();
      expect(await mine(user, '203.0.113.9')).toMatchObject({ ...denied, status: 403, body: { title: 'Forbidden' } });
      expect(await mine('admin', '::ffff:203.0.113.9, 10.1.1.1')).toMatchObject({ ...denied, status: 403 });
      expect(await mine(user, '[2001:db8:dead::1]:443')).toMatchObject({ ...denied, status: 429 });
      expect((await app.http('shop/list', { 'x-user': user, 'x-forwarded-for': '203.0.113.9' })).status).toBe(403);
      // What the client has written itself stands on the left.
      const ip = `198.51.100.${100 + clients}`;
      expect(await mine(user, `203.0.113.9, ${ip}:4711, 10.1.1.1`)).toMatchObject({ status: 200 });
      expect((await app.limits.peek('address', `ip:${ip}`)).remaining).toBe(1);
      expect((await app.limits.peek('user', `user:${user}`)).remaining).toBe(2);
      expect(await mine('admin', ip)).toMatchObject({
        status: 200,
        shown: expect.stringMatching(/^"address";r=0;t=\d+$/),
      });
      // What is no address is counted with the proxy that wrote it, however it is spelt; an empty item is none.
      const proxy = `10.9.${platform.length}.${clients}`;
      for (const forwarded of [`unknown, ${proxy}`, `_hidden, , ${proxy},`]) {
        expect((await mine(newClient(), forwarded)).status).toBe(200);
      }
      expect((await mine(newClient(), `"[2001:db8::1]", ${proxy}`)).body).toMatchObject({
        'violated-policies': ['address'],
      });
      expect((await mine(newClient(), ',')).status).not.toBe(500);
    });

    it("asks 'resolve' about the request", async () => {
      const plan = (user: string, name: string) => app.http('shop/plan', { 'x-user': user, 'x-plan': name });
      const [small, big, none] = [newClient(), newClient(), newClient()];
      const shown = async (user: string, name: string) => (await plan(user, name)).headers!.get('ratelimit-policy');
      expect(await shown(small, 'small')).toBe('"plan";q=1;w=60, "user";q=3;w=60');
      expect((await plan(small, 'small')).status).toBe(429);
      expect(await shown(big, 'big')).toBe('"plan";q=5;w=60, "user";q=3;w=60');
      expect((await plan(big, 'big')).status).toBe(200);
      expect(await shown(none, 'none')).toBe('"user";q=3;w=60');
    });
  });
});
