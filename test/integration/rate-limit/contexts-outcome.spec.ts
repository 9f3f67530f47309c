import { Controller, Injectable, Logger } from '@nestjs/common';
import { Args, Mutation, Query, Resolver } from '@nestjs/graphql';
import { MessagePattern, Payload } from '@nestjs/microservices';
import { MessageBody, SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { Observable, of, throwError } from 'rxjs';
import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import { RateLimit, SkipRateLimit } from '../../../libs/redis-patterns/src/rate-limit/nest/index.js';
import { eventually } from '../../support/eventually.js';
import { describeOnEachTopology } from '../../support/topologies.js';
import { clientOf, ContextsApp, Gate } from './contexts-app.js';

interface Login {
  readonly client: string;
  readonly ok?: boolean;
}

const TYPES = `
  type Query { login(client: String, ok: Boolean): String, slow(client: String): String, mail(client: String): String }
  type Mutation { login(client: String, ok: Boolean): String }
`;
const failing = { countWhen: 'failure' } as const;

function login({ ok }: Login): string {
  if (ok === true) return 'welcome';
  throw new Error('wrong password');
}

@Injectable()
class Work {
  running = 0;
  runs = 0;

  constructor(private readonly gate: Gate) {}

  @RateLimit('login', { by: ({ client }: Login) => `method:${client}`, countWhen: 'failure' })
  async login(given: Login): Promise<string> {
    return login(given);
  }

  @RateLimit({ limit: 1, window: '1m' }, { by: (client: string) => client })
  async mail(_client: string): Promise<string> {
    return 'sent';
  }

  @RateLimit('reports', { by: (client: string) => client })
  async report(_client: string): Promise<number> {
    this.running++;
    await this.gate.pass();
    this.running--;
    return ++this.runs;
  }

  @RateLimit('reports', { by: (client: string) => client })
  reports(_client: string): Observable<never> {
    this.runs++;
    return new Observable(() => {});
  }
}

@Controller()
@RateLimit('login', failing)
class MessageHandlers {
  constructor(private readonly work: Work) {}

  @SkipRateLimit()
  @MessagePattern('mail')
  mail(@Payload() { client }: Login): Promise<string> {
    return this.work.mail(client);
  }

  @MessagePattern('login')
  login(@Payload() given: Login): string {
    return login(given);
  }
}

@WebSocketGateway()
@RateLimit('login', failing)
class Gateway {
  @SubscribeMessage('login')
  login(@MessageBody() given: Login): Observable<object> {
    return given.ok === true ? of({ event: 'login', data: 'welcome' }) : throwError(() => new Error('wrong password'));
  }
}

@Resolver()
@RateLimit('login', failing)
class LoginResolver {
  constructor(
    private readonly gate: Gate,
    private readonly work: Work,
  ) {}

  @SkipRateLimit()
  @Query('mail')
  mail(@Args() { client }: Login): Promise<string> {
    return this.work.mail(client);
  }

  @Query('login')
  query(@Args() given: Login): string {
    return login(given);
  }

  @Mutation('login')
  login(@Args() given: Login): string {
    return login(given);
  }

  @Query('slow')
  async slow(): Promise<string> {
    await this.gate.pass();
    throw new Error('wrong password');
  }
}

const KINDS = ['graphql', 'ws', 'rpc', 'method'] as const;

describeOnEachTopology('how a limited call has ended', { user: 'rateLimit' }, (topology) => {
  let app: ContextsApp;
  let clients = 0;
  beforeAll(async () => {
    app = await ContextsApp.start(topology, 'express', {
      controllers: [MessageHandlers],
      providers: [Gateway, LoginResolver, Gate, Work],
      typeDefs: TYPES,
      rateLimit: {
        policies: {
          login: { limit: 2, window: '1m', by: clientOf },
          reports: { algorithm: 'concurrency', limit: 2 },
        },
      },
    });
  });
  afterAll(() => app?.close());

  const attempt = async (kind: (typeof KINDS)[number], client: string, ok: boolean): Promise<string> => {
    if (kind === 'method') {
      const outcome = await app.app
        .get(Work)
        .login({ client, ok })
        .catch((error: Error) => error.message);
      return outcome;
    }
    const { passed, body } =
      kind === 'graphql'
        ? await app.graphql(`mutation { login(client: "${client}", ok: ${ok}) }`)
        : await app[kind]('login', { client, ok });
    return passed ? 'welcome' : JSON.stringify(body);
  };
  const left = async (subject: string) => (await app.limits.peek('login', subject)).remaining;

  it.each(KINDS)("%s: with countWhen 'failure' a success costs nothing, and failures are limited", async (kind) => {
    const client = `client${++clients}`;
    for (let call = 1; call <= 4; call++) {
      expect(await attempt(kind, client, true)).toBe('welcome');
      await eventually(async () => expect(await left(`${kind}:${client}`)).toBe(2));
    }
    for (let call = 1; call <= 2; call++) expect(await attempt(kind, client, false)).not.toMatch(/Rate limit|welcome/);
    expect(await attempt(kind, client, true)).toMatch(/Rate limit 'login' is exceeded/);
  });

  it.each(KINDS)('%s: of many attempts at once no more than the limit run', async (kind) => {
    const client = `client${++clients}`;
    const all = await Promise.all(Array.from({ length: 8 }, () => attempt(kind, client, false)));
    expect(all.filter((each) => each.includes('Rate limit'))).toHaveLength(6);
    expect(await left(`${kind}:${client}`)).toBe(0);
  });

  it('graphql: a field that succeeds does not pay for one that fails later', async () => {
    const client = `client${++clients}`;
    const gate = app.app.get(Gate);
    const sent = app.graphql(`{ login(client: "${client}", ok: true) slow(client: "${client}") }`);
    await eventually(() => expect(gate.waiting).toHaveLength(1));
    gate.open();
    expect((await sent).passed).toBe(false);
    expect(await left(`graphql:${client}`)).toBe(1);
    // One after the other: the first is given back, the second is charged anew.
    const field = (name: string, ok: boolean) => `${name}: login(client: "${client}", ok: ${ok})`;
    await app.graphql(`mutation { ${field('a', true)} ${field('b', false)} }`);
    expect(await left(`graphql:${client}`)).toBe(0);
  });

  it.each(['graphql', 'rpc'] as const)('%s: answers what a service has thrown as it answers its own', async (kind) => {
    const logged = jest.spyOn(Logger.prototype, 'error');
    const client = `client${++clients}`;
    expect((await app.send(kind, 'mail', client)).passed).toBe(true);
    const { passed, body } = await app.send(kind, 'mail', client);
    expect(passed).toBe(false);
    expect(JSON.stringify(body)).toMatch(/"code":"ERR_RATE_LIMIT_EXCEEDED".*"retryAfter":\d+/);
    expect(logged).not.toHaveBeenCalled();
    logged.mockRestore();
  });

  it('method: leases end with the call, also with one that fails, and with a subscriber that leaves', async () => {
    const work = app.app.get(Work);
    const gate = app.app.get(Gate);
    const client = `client${++clients}`;
    const calls = [work.report(client), work.report(client)];
    await eventually(() => expect(work.running).toBe(2));
    const refused = { code: 'ERR_RATE_LIMIT_EXCEEDED', result: { policy: 'reports', limit: 2 } };
    await expect(work.report(client)).rejects.toMatchObject(refused);
    gate.open();
    await Promise.all(calls);
    const runs = work.runs;
    const subscriptions = [work.reports(client).subscribe(), work.reports(client).subscribe()];
    await eventually(() => expect(work.runs).toBe(runs + 2));
    await expect(work.report(client)).rejects.toMatchObject(refused);
    subscriptions.forEach((each) => each.unsubscribe());
    await eventually(async () => expect((await app.limits.peek('reports', client)).remaining).toBe(2));
    expect(await topology.admin.keys(`${topology.namespace}:ratelimit:reports:*`)).toEqual([]);
  });
});
