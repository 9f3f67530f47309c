import { Controller, Get, Logger, type Type } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { Query, Resolver } from '@nestjs/graphql';
import { MessagePattern } from '@nestjs/microservices';
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { RateLimit, RateLimitGuard } from '../../../libs/redis-patterns/src/rate-limit/nest/index.js';
import { describeOnEachTopology } from '../../support/topologies.js';
import { clientOf, ContextsApp, KINDS, type Answer, type Kind, type Platform } from './contexts-app.js';

const LIMIT = 2;
const TYPES = 'type Query { hello(client: String): String, again(client: String): String }';

/** The same handlers, with the decorator on their classes or without it. */
function handlers(decorated: boolean): { controllers: Type[]; providers: Type[] } {
  const limit: ClassDecorator = decorated ? RateLimit('api') : () => {};
  @limit
  @Controller()
  class HttpHandlers {
    @Get('hello')
    hello(): string {
      return 'hello';
    }
  }
  @limit
  @Controller()
  class MessageHandlers {
    @MessagePattern('hello')
    hello(): string {
      return 'hello';
    }
  }
  @limit
  @WebSocketGateway()
  class Gateway {
    @SubscribeMessage('hello')
    hello(): object {
      return { event: 'hello', data: 'hello' };
    }
  }
  @limit
  @Resolver()
  class HelloResolver {
    @Query('hello')
    hello(): string {
      return 'hello';
    }

    @Query('again')
    again(): string {
      return 'again';
    }
  }
  return { controllers: [HttpHandlers, MessageHandlers], providers: [Gateway, HelloResolver] };
}

const GUARDS = {
  'a global guard': { decorated: false, global: ['api'], appGuard: false },
  'a controller guard': { decorated: true, global: [], appGuard: false },
  both: { decorated: true, global: ['api'], appGuard: true },
};

/** What a client that is refused gets to know. */
function refusal(kind: Kind, { body, status, headers }: Answer): unknown {
  if (kind === 'http') return { body, status, retryAfter: headers?.get('retry-after') };
  if (kind === 'graphql') {
    const { errors } = body as { errors: { message: string; extensions: object }[] };
    const { message, extensions } = errors[0]!;
    return { message, ...extensions, header: headers?.get('retry-after') };
  }
  return body;
}

const MESSAGE = expect.stringMatching(/^Rate limit 'api' is exceeded \(2 in 1m\); try again in \d+ s$/);
const SECONDS = expect.any(Number);
const DIGITS = expect.stringMatching(/^[1-9]\d?$/);
const REFUSALS: Readonly<Record<Kind, object>> = {
  http: { body: expect.objectContaining({ detail: MESSAGE, retryAfter: SECONDS }), status: 429, retryAfter: DIGITS },
  graphql: {
    message: MESSAGE,
    code: 'ERR_RATE_LIMIT_EXCEEDED',
    status: 429,
    retryAfter: SECONDS,
    'violated-policies': ['api'],
    header: DIGITS,
  },
  ws: { status: 'error', message: MESSAGE, code: 'ERR_RATE_LIMIT_EXCEEDED', retryAfter: SECONDS },
  rpc: { status: 'error', message: MESSAGE, code: 'ERR_RATE_LIMIT_EXCEEDED', retryAfter: SECONDS },
};

describeOnEachTopology('@RateLimit on every kind of handler', { user: 'rateLimit' }, (topology) => {
  let clients = 0;
  afterEach(() => {
    jest.restoreAllMocks();
  });

  describe.each(['express', 'fastify'] as const)('on %s', (platform: Platform) => {
    describe.each(Object.entries(GUARDS))('with %s', (_name, { decorated, global, appGuard }) => {
      let app: ContextsApp;
      beforeAll(async () => {
        const { controllers, providers } = handlers(decorated);
        app = await ContextsApp.start(topology, platform, {
          controllers,
          providers: [...providers, ...(appGuard ? [{ provide: APP_GUARD, useClass: RateLimitGuard }] : [])],
          typeDefs: TYPES,
          rateLimit: { global, policies: { api: { limit: LIMIT, window: '1m', by: clientOf } } },
        });
      });
      afterAll(() => app?.close());

      const left = async (subject: string) => (await app.limits.peek('api', subject)).remaining;

      it.each(KINDS[platform])('%s: charges a request once, and answers what is above the limit', async (kind) => {
        const logged = jest.spyOn(Logger.prototype, 'error');
        const client = `client${++clients}`;
        for (let call = 1; call <= LIMIT; call++) {
          expect(await app.send(kind, 'hello', client)).toMatchObject({ passed: true });
          expect(await left(`${kind}:${client}`)).toBe(LIMIT - call);
        }
        const refused = await app.send(kind, 'hello', client);
        expect(refused.passed).toBe(false);
        expect(refusal(kind, refused)).toEqual(REFUSALS[kind]);
        expect(await app.send(kind, 'hello', `${client}x`)).toMatchObject({ passed: true });
        expect(logged).not.toHaveBeenCalled();
      });

      if (platform === 'fastify') return;

      it('graphql: charges an operation once, whatever fields it has, and each operation of a batch', async () => {
        const client = `client${++clients}`;
        const operation = `{ hello(client: "${client}") again(client: "${client}") more: hello(client: "${client}") }`;
        const { passed, headers } = await app.graphql(operation);
        expect([passed, headers!.get('ratelimit')]).toEqual([true, expect.stringMatching(/^"api";r=1;t=\d\d$/)]);
        expect(await left(`graphql:${client}`)).toBe(1);
        expect((await app.graphql([operation, operation])).passed).toBe(false);
        expect(await left(`graphql:${client}`)).toBe(0);
        const { errors } = (await app.graphql(operation)).body as { errors: unknown[] };
        expect(errors).toHaveLength(3);
      });
    });
  });
});
