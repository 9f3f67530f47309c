import {
  Catch,
  Controller,
  Get,
  HttpException,
  Injectable,
  Logger,
  Param,
  ParseIntPipe,
  Post,
  Query,
  UseGuards,
  type ArgumentsHost,
  type CanActivate,
  type ExceptionFilter,
  type ExecutionContext,
  type INestApplication,
} from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { Test } from '@nestjs/testing';
import request from 'supertest';
import { afterAll, afterEach, beforeAll, expect, it, jest } from '@jest/globals';
import { RedisPatternsModule } from '../../../libs/redis-patterns/src/nest/redis-patterns.module.js';
import {
  definePolicy,
  RateLimitExceededError,
  RateLimitService,
  type RateLimitOptions,
} from '../../../libs/redis-patterns/src/rate-limit/index.js';
import {
  RateLimit,
  RateLimitGuard,
  RateLimitHttpException,
  SkipRateLimit,
} from '../../../libs/redis-patterns/src/rate-limit/nest/index.js';
import { describeOnEachTopology } from '../../support/topologies.js';

interface TestRequest {
  headers: Record<string, string | undefined>;
  query: Record<string, string | undefined>;
  user?: { id?: string };
}

const requestIn = (context: ExecutionContext): TestRequest => context.switchToHttp().getRequest<TestRequest>();
const exportPolicy = definePolicy('export', {
  limit: 3,
  window: '1h',
  by: (context) => subjectIn(context as ExecutionContext),
});
const subjectIn = (context: ExecutionContext): string => `client:${requestIn(context).query['client']}`;

@Injectable()
class AuthGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const incoming = requestIn(context);
    const id = incoming.headers['x-user'];
    if (id !== undefined) incoming.user = id === 'nobody' ? {} : { id };
    return true;
  }
}

@Injectable()
class Mailer {
  sent = 0;

  @RateLimit(
    { limit: 2, window: '1m' },
    { by: (address: string) => `to:${address}`, cost: (_to: string, units: number) => units },
  )
  async send(_address: string, _units: number): Promise<number> {
    return ++this.sent;
  }
}

@Controller('shop')
@RateLimit('shop')
class ShopController {
  handled = 0;

  constructor(private readonly mailer: Mailer) {}

  @Get('plain')
  plain(): string {
    this.handled++;
    return 'plain';
  }

  @Get('both')
  @RateLimit(['shop', 'second'])
  async both(): Promise<string> {
    return 'both';
  }

  @SkipRateLimit('shop')
  @Get('health')
  health(): string {
    return 'well';
  }

  @SkipRateLimit()
  @Get('ten')
  @RateLimit('ten', { by: subjectIn })
  ten(): number {
    return ++this.handled;
  }

  @SkipRateLimit()
  @RateLimit(exportPolicy, {
    cost: async (context) => Number(requestIn(context).query['cost'] ?? 1),
    skipIf: async (context) => requestIn(context).query['free'] === 'yes',
  })
  @Post('export/:id')
  async export(@Param('id', ParseIntPipe) id: number): Promise<string> {
    return `export ${id}`;
  }

  @SkipRateLimit()
  @RateLimit({ limit: 2, window: '1m' }, { by: 'user' })
  @UseGuards(AuthGuard)
  @Get('mine')
  mine(): string {
    return 'mine';
  }

  @SkipRateLimit()
  @Get('mail')
  async mail(@Query('to') to: string, @Query('units', ParseIntPipe) units: number): Promise<number> {
    return this.mailer.send(to, units);
  }

  @SkipRateLimit()
  @Get('nobody')
  @RateLimit({ limit: 2, window: '1m' }, { by: () => '' })
  nobody(): string {
    return 'never';
  }
}

/** The catch-all filter of Nest's documentation. */
@Catch()
class CatchAll implements ExceptionFilter {
  catch(exception: unknown, host: ArgumentsHost): void {
    const status = exception instanceof HttpException ? exception.getStatus() : 500;
    host
      .switchToHttp()
      .getResponse<{ status(code: number): { json(body: object): void } }>()
      .status(status)
      .json({ caught: status });
  }
}

@Catch(RateLimitHttpException, RateLimitExceededError)
class OwnFilter implements ExceptionFilter {
  catch(exception: RateLimitHttpException | RateLimitExceededError, host: ArgumentsHost): void {
    const response = host.switchToHttp().getResponse<{ status(code: number): { json(body: object): void } }>();
    response.status(429).json({ own: exception.code });
  }
}

describeOnEachTopology('@RateLimit over HTTP', { user: 'rateLimit' }, (topology) => {
  let app: NestExpressApplication;
  let clients = 0;
  const policies: RateLimitOptions['policies'] = {
    shop: { limit: 4, window: '1m' },
    second: { algorithm: 'fixed-window', limit: 100, window: '1d' },
    ten: { limit: 10, window: '1m' },
  };
  const options: RateLimitOptions = { policies, deadline: '5s', headers: ['draft', 'legacy'] };

  async function boot(adapt: (app: INestApplication) => void = () => {}): Promise<NestExpressApplication> {
    const { connection, namespace } = topology;
    const module = await Test.createTestingModule({
      imports: [RedisPatternsModule.forRoot({ namespace, connection, rateLimit: options })],
      controllers: [ShopController],
      providers: [Mailer],
    }).compile();
    const created = module.createNestApplication<NestExpressApplication>();
    created.set('trust proxy', true);
    adapt(created);
    return created.init();
  }

  const http = (target: INestApplication = app) => request(target.getHttpServer());
  /** A client that nobody else is. */
  const newClient = (): string => `198.51.100.${++clients}`;
  const get = (path: string, ip: string, target?: INestApplication) =>
    http(target).get(path).set('X-Forwarded-For', ip);
  const keysOf = (policy: string) => topology.admin.keys(`${topology.namespace}:ratelimit:${policy}:*`);

  beforeAll(async () => {
    app = await boot();
  });
  afterAll(() => app?.close());
  afterEach(() => {
    jest.restoreAllMocks();
  });

  it('passes exactly 10 of 50 parallel requests at a limit of 10', async () => {
    const server = await app.listen(0, '127.0.0.1');
    const { port } = server.address() as { port: number };
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => fetch(`http://127.0.0.1:${port}/shop/ten?client=crowd`)),
    );
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(10);
    expect(statuses.filter((status) => status === 429)).toHaveLength(40);
  });

  it('tells where a client stands in headers of both kinds', async () => {
    const ip = newClient();
    const { headers, status } = await get('/shop/both', ip);
    expect(status).toBe(200);
    expect(headers['ratelimit-policy']).toBe('"shop";q=4;w=60, "second";q=100;w=86400');
    expect(headers['ratelimit']).toMatch(/^"shop";r=3;t=\d\d, "second";r=99;t=86400$/);
    expect(headers).toMatchObject({ 'x-ratelimit-limit': '4', 'x-ratelimit-remaining': '3' });
    expect(Number(headers['x-ratelimit-reset'])).toBeGreaterThan(50);
    expect(headers['retry-after']).toBeUndefined();
  });

  it('answers 429 with Retry-After and problem details, logs no error, and does not run the handler', async () => {
    const logged = jest.spyOn(Logger.prototype, 'error');
    const ip = newClient();
    const controller = app.get(ShopController);
    for (let call = 0; call < 4; call++) expect((await get('/shop/plain', ip)).text).toBe('plain');
    const before = controller.handled;
    const { status, headers, body } = await get('/shop/plain', ip);
    expect(status).toBe(429);
    expect(controller.handled).toBe(before);
    expect(headers['retry-after']).toMatch(/^[1-9]\d*$/);
    expect(Number(headers['retry-after'])).toBeLessThanOrEqual(66);
    expect(headers['content-type']).toMatch(/^application\/problem\+json/);
    expect(headers['ratelimit']).toMatch(/^"shop";r=0;t=\d+$/);
    expect(body).toEqual({
      type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
      title: 'Too Many Requests',
      status: 429,
      detail: expect.stringMatching(/^Rate limit 'shop' is exceeded \(4 in 1m\); try again in \d+ s$/),
      retryAfter: Number(headers['retry-after']),
      'violated-policies': ['shop'],
    });
    expect(logged).not.toHaveBeenCalled();
  });

  it('charges a request once for a policy on class and method, all policies or none', async () => {
    const ip = newClient();
    await get('/shop/both', ip);
    const limits = app.get(RateLimitService);
    expect(await limits.peek(['shop', 'second'], `ip:${ip}`)).toMatchObject({ policy: 'shop', remaining: 3 });
    for (let call = 0; call < 5; call++) await get('/shop/both', ip);
    const { policies: standing } = await limits.peek(['shop', 'second'], `ip:${ip}`);
    expect(standing.map(({ remaining }) => remaining)).toEqual([0, 96]);
  });

  it('charges a request once when the guard is global, too', async () => {
    const global = await boot((created) =>
      created.useGlobalGuards(
        new RateLimitGuard(created.get<never>(Symbol.for('nestjs-redis-patterns:runtime')), undefined),
      ),
    );
    const ip = newClient();
    await get('/shop/plain', ip, global);
    expect(await global.get(RateLimitService).peek('shop', `ip:${ip}`)).toMatchObject({ remaining: 3 });
    await global.close();
  });

  it('leaves out what @SkipRateLimit names', async () => {
    const ip = newClient();
    for (let call = 0; call < 6; call++) {
      const { status, headers } = await get('/shop/health', ip);
      expect([status, headers['ratelimit']]).toEqual([200, undefined]);
    }
  });

  it('takes cost and skipIf from the request, also when they are asynchronous', async () => {
    const client = `skip${++clients}`;
    const post = (query: string) => http().post(`/shop/export/1?client=${client}&${query}`);
    for (let call = 0; call < 5; call++) expect((await post('free=yes')).status).toBe(201);
    expect((await post('cost=2')).status).toBe(201);
    expect((await post('cost=2')).status).toBe(429);
    expect((await post('cost=1')).status).toBe(201);
    const never = await post('cost=4');
    expect(never.status).toBe(429);
    expect(never.headers['retry-after']).toBeUndefined();
    expect(never.body).not.toHaveProperty('retryAfter');
    jest.spyOn(Logger.prototype, 'error').mockImplementation(() => {});
    expect((await post('cost=-1')).status).toBe(500);
  });

  it('runs before pipes: what they refuse has been charged', async () => {
    const client = `pipe${++clients}`;
    const post = () => http().post(`/shop/export/no-number?client=${client}`);
    const statuses = [await post(), await post(), await post(), await post()].map(({ status }) => status);
    expect(statuses).toEqual([400, 400, 400, 429]);
  });

  it('counts users whom a guard below has found, and addresses of those who have none', async () => {
    const mine = (user: string | undefined, ip: string) => {
      const call = get('/shop/mine', ip);
      return user === undefined ? call : call.set('X-User', user);
    };
    const [one, two] = [`u${++clients}`, `u${++clients}`];
    const [here, there] = [newClient(), newClient()];
    const statuses = [];
    for (const [user, ip] of [
      [one, here],
      [one, there],
      [one, here],
      [two, here],
      [undefined, here],
    ] as const) {
      statuses.push((await mine(user, ip)).status);
    }
    expect(statuses).toEqual([200, 200, 429, 200, 200]);
    const keys = await keysOf('ShopController.mine');
    for (const subject of [`{user:${one}}`, `{user:${two}}`, `{ip:${here}}`]) {
      expect(keys.filter((key) => key.endsWith(subject))).toHaveLength(1);
    }
  });

  it('fails a request whose subject cannot be told, rather than to share a count', async () => {
    jest.spyOn(Logger.prototype, 'error').mockImplementation(() => {});
    expect((await get('/shop/nobody', newClient())).status).toBe(500);
    expect((await get('/shop/mine', newClient()).set('X-User', 'nobody')).status).toBe(500);
    expect((await get('/shop/plain', 'unknown')).status).toBe(500);
    expect(await keysOf('ShopController.nobody')).toEqual([]);
  });

  it('counts an IPv6 client by its /64, and a mapped IPv4 client as IPv4', async () => {
    const net = `2001:db8:0:${(++clients).toString(16)}`;
    for (let host = 1; host <= 4; host++) expect((await get('/shop/plain', `${net}::${host}`)).status).toBe(200);
    expect((await get('/shop/plain', `${net}:ffff::9`)).status).toBe(429);
    expect((await get('/shop/plain', `2001:db8:1:${clients.toString(16)}::1`)).status).toBe(200);
    const ip = newClient();
    await get('/shop/plain', `::ffff:${ip}`);
    expect(await keysOf(`shop`)).toContain(`${topology.namespace}:ratelimit:shop:{ip:${ip}}`);
  });

  it('answers 429 for a provider method within a request, and rejects elsewhere', async () => {
    const logged = jest.spyOn(Logger.prototype, 'error');
    const to = `m${++clients}`;
    const mail = () => http().get(`/shop/mail?to=${to}&units=2`);
    expect((await mail()).status).toBe(200);
    const { status, headers, body } = await mail();
    expect(status).toBe(429);
    expect(headers['retry-after']).toMatch(/^[1-9]\d*$/);
    expect(headers['content-type']).toMatch(/^application\/problem\+json/);
    expect(body).toMatchObject({ status: 429, 'violated-policies': ['Mailer.send'] });
    expect(logged).not.toHaveBeenCalled();

    const mailer = app.get(Mailer);
    const sent = mailer.sent;
    const error = await mailer.send(to, 1).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(RateLimitExceededError);
    expect(error).toMatchObject({ code: 'ERR_RATE_LIMIT_EXCEEDED', status: 429, result: { policy: 'Mailer.send' } });
    expect(mailer.sent).toBe(sent);
    expect(await mailer.send(`${to}x`, 1)).toBe(sent + 1);
  });

  it('is answered by the filters of the application where there are some', async () => {
    const own = await boot((created) => created.useGlobalFilters(new OwnFilter()));
    const all = await boot((created) => created.useGlobalFilters(new CatchAll()));
    const ip = newClient();
    for (let call = 0; call < 4; call++) await get('/shop/plain', ip, own);
    const owned = await get('/shop/plain', ip, own);
    expect([owned.status, owned.body]).toEqual([429, { own: 'ERR_RATE_LIMIT_EXCEEDED' }]);
    expect(owned.headers['retry-after']).toMatch(/^[1-9]\d*$/);
    const caught = await get('/shop/plain', ip, all);
    expect([caught.status, caught.body]).toEqual([429, { caught: 429 }]);
    await Promise.all([own.close(), all.close()]);
  });

  it('does not count calls of a handler that are no requests', async () => {
    expect(app.get(ShopController).plain()).toBe('plain');
  });
});
