import {
  All,
  Body,
  Controller,
  Get,
  Head,
  Header,
  Headers,
  Injectable,
  Ip,
  Module,
  Next,
  Param,
  Post,
  Query,
  Redirect,
  Render,
  Res,
  Session,
  Sse,
  Version,
  VersioningType,
  type ExecutionContext,
  type Type,
} from '@nestjs/common';
import { Test } from '@nestjs/testing';
import request from 'supertest';
import type { App } from 'supertest/types.js';
import { describe, expect, it } from '@jest/globals';
import { defineCache } from '../../../libs/redis-patterns/src/cache/index.js';
import { Cacheable, CacheResponse } from '../../../libs/redis-patterns/src/cache/nest/index.js';
import type { CacheResponseOptions } from '../../../libs/redis-patterns/src/cache/nest/index.js';
import { InvalidOptionsError } from '../../../libs/redis-patterns/src/core/errors.js';
import { RedisPatternsModule } from '../../../libs/redis-patterns/src/nest/redis-patterns.module.js';
import { describeOn, type SharedTopology } from '../../support/topologies.js';

const PUBLIC: CacheResponseOptions = { ttl: '1m', scope: 'public' };
const options = (given: object): CacheResponseOptions => ({ ...PUBLIC, ...given });
const byUser = (context: ExecutionContext): string => context.getClass().name;

/** A class whose one method `find` is decorated by these, as if they stood above it. */
function controller(parameters: ParameterDecorator[], ...decorators: MethodDecorator[]): Type {
  @Controller('things')
  class Things {
    find(..._args: unknown[]): object {
      return {};
    }
  }
  parameters.forEach((decorate, index) => decorate(Things.prototype, 'find', index));
  for (const decorate of decorators.toReversed()) {
    const descriptor = Object.getOwnPropertyDescriptor(Things.prototype, 'find')!;
    decorate(Things.prototype, 'find', descriptor);
    Object.defineProperty(Things.prototype, 'find', descriptor);
  }
  return Things;
}

async function start(topology: SharedTopology, controllers: Type[], modules: Type[] = [], isGlobal = true) {
  @Module({
    imports: [
      RedisPatternsModule.forRoot({
        namespace: topology.namespace,
        connection: topology.connection as never,
        isGlobal,
      } as never),
      ...modules,
    ],
    controllers,
  })
  class AppModule {}
  const app = (await Test.createTestingModule({ imports: [AppModule] }).compile()).createNestApplication({
    logger: false,
  });
  app.enableVersioning({ type: VersioningType.HEADER, header: 'x-version' });
  try {
    return await app.init();
  } catch (error) {
    await app.close();
    throw error;
  }
}

async function refusal(topology: SharedTopology, controllers: Type[], modules: Type[] = []): Promise<unknown> {
  try {
    await (await start(topology, controllers, modules)).close();
  } catch (error) {
    return error;
  }
  return undefined;
}

describeOn('standalone', '@CacheResponse at boot', (topology) => {
  it.each<[string, Type, string, string]>([
    ['no scope', controller([], CacheResponse({ ttl: '1m' } as never), Get()), 'scope', "'public' for everybody"],
    ['another scope', controller([], CacheResponse(options({ scope: 'user' })), Get()), 'scope', 'a function'],
    ['no ttl', controller([], CacheResponse({ scope: 'public' } as never), Get()), 'ttl', "'30s'"],
    ['a ttl of 0', controller([], CacheResponse(options({ ttl: 0 })), Get()), 'ttl', 'at least'],
    ['a longer ttl than maxTtl', controller([], CacheResponse(options({ ttl: '8d' })), Get()), 'ttl', 'maxTtl'],
    ['an unknown option', controller([], CacheResponse(options({ qeury: [] })), Get()), 'qeury', "'query'"],
    ['no list of names', controller([], CacheResponse(options({ query: 'page' })), Get()), 'query', 'a list'],
    ['a second one', controller([], CacheResponse(PUBLIC), CacheResponse(PUBLIC), Get()), '', 'twice'],
    [
      '@Cacheable above it',
      controller([], Cacheable({ ttl: '1m' }) as MethodDecorator, CacheResponse(PUBLIC), Get()),
      '',
      'answers in its place; write @CacheResponse above',
    ],
    ['POST', controller([], CacheResponse(PUBLIC), Post()), '', '@Get()'],
    ['all methods', controller([], CacheResponse(PUBLIC), All()), '', '@Get()'],
    ['HEAD', controller([], CacheResponse(PUBLIC), Head()), '', '@Get()'],
    ['no handler', controller([], CacheResponse(PUBLIC)), '', '@Cacheable'],
    ['events', controller([], CacheResponse(PUBLIC), Sse('events')), '', 'events'],
    ['a redirect', controller([], CacheResponse(PUBLIC), Get(), Redirect('/')), '', '2xx'],
    ['a template', controller([], CacheResponse(PUBLIC), Get(), Render('page')), '', '@Cacheable'],
    ['@Res()', controller([Res()], CacheResponse(PUBLIC), Get()), '', 'passthrough'],
    ['@Next()', controller([Next()], CacheResponse(PUBLIC), Get()), '', 'passthrough'],
    [
      'stale answers of a method that writes to the response',
      controller([Res({ passthrough: true })], CacheResponse(options({ stale: '1m' })), Get()),
      '',
      'after the response was sent',
    ],
    [
      'tags that are none',
      controller([], CacheResponse(options({ tags: 'products' })), Get()),
      'tags',
      'must be an array of texts, or a function',
    ],
    ['no name', controller([], CacheResponse(options({ headers: [5] })), Get()), 'headers[0]', 'must be a name'],
    ['a body', controller([Body()], CacheResponse(PUBLIC), Get()), '', 'body'],
    ['the session', controller([Session()], CacheResponse(PUBLIC), Get()), 'scope', 'who asks'],
    ['the address', controller([Ip()], CacheResponse(PUBLIC), Get()), 'scope', 'who asks'],
    ['an undeclared query parameter', controller([Query('page')], CacheResponse(PUBLIC), Get()), 'query', 'page'],
    ['undeclared query parameters', controller([Query()], CacheResponse(PUBLIC), Get()), 'query', '[]'],
    [
      'an undeclared path parameter',
      controller([Param('id')], CacheResponse(options({ params: [] })), Get(':id')),
      'params',
      'id',
    ],
    ['an undeclared header', controller([Headers('X-Host')], CacheResponse(PUBLIC), Get()), 'headers', 'X-Host'],
    [
      'a Vary header of what is not declared',
      controller([], CacheResponse(PUBLIC), Header('Vary', 'Accept-Encoding, X-Shop'), Get()),
      'headers',
      'x-shop',
    ],
    [
      'a Vary header that is known later',
      controller(
        [],
        CacheResponse(PUBLIC),
        Header('vary', () => 'X-Shop'),
        Get(),
      ),
      'headers',
      'a text',
    ],
    [
      'a header that names the user, publicly',
      controller([Headers('authorization')], CacheResponse(PUBLIC), Get()),
      'headers',
      'authorization',
    ],
  ])('refuses %s', async (_, type, path, remedy) => {
    const error = await refusal(topology, [type]);
    expect(error).toBeInstanceOf(InvalidOptionsError);
    expect((error as InvalidOptionsError).where).toBe('@CacheResponse on Things.find');
    const found = (error as InvalidOptionsError).issues.find((issue) => issue.path === path);
    expect(found?.message).toContain(remedy);
  });

  it.each<[string, Type]>([
    ['@Res with passthrough', controller([Res({ passthrough: true })], CacheResponse(PUBLIC), Get())],
    [
      'what is declared',
      controller([Query('a'), Headers('B')], CacheResponse(options({ query: ['a'], headers: ['b'] })), Get()),
    ],
    ['a list of query parameters', controller([Query()], CacheResponse(options({ query: [] })), Get())],
    ['path parameters', controller([Param('id'), Param()], CacheResponse(PUBLIC), Get(':id'))],
    [
      'what names the user, with a scope',
      controller([Session(), Ip(), Headers('Authorization')], CacheResponse(options({ scope: byUser })), Get()),
    ],
    [
      'the session, where the answer is the same',
      controller([Session()], CacheResponse(options({ shareAuthenticated: true })), Get()),
    ],
    ['it below the route', controller([], Get(), CacheResponse(PUBLIC))],
  ])('accepts %s', async (_, type) => {
    expect(await refusal(topology, [type])).toBeUndefined();
  });

  it('refuses two classes of one name on one route, and a region with its resource', async () => {
    @Module({ controllers: [controller([], CacheResponse(PUBLIC), Get())] })
    class Other {}
    const error = await refusal(topology, [controller([], CacheResponse(PUBLIC), Get())], [Other]);
    expect(error).toMatchObject({ code: 'ERR_INVALID_OPTIONS', message: expect.stringContaining('rename') });

    @Injectable()
    class Regions {
      @Cacheable(defineCache({ resource: 'http', key: () => 1 }))
      async find(): Promise<unknown> {
        return 1;
      }
    }
    @Module({ providers: [Regions], controllers: [controller([], CacheResponse(PUBLIC), Get())] })
    class WithRegion {}
    expect(await refusal(topology, [], [WithRegion])).toMatchObject({ code: 'ERR_INVALID_OPTIONS' });
  });

  it('keeps versions of one route apart, though class and method have the same names', async () => {
    const versions = ['1', '2'].map((version) => {
      @Controller('versioned')
      class Versioned {
        @Version(version)
        @Get()
        @CacheResponse(PUBLIC)
        find(): object {
          return { version };
        }
      }
      return Versioned;
    });
    const app = await start(topology, versions);
    try {
      for (const cache of ['MISS', 'HIT']) {
        for (const version of ['1', '2']) {
          const server = app.getHttpServer() as App;
          const answer = await request(server).get('/versioned').set('X-Version', version);
          expect([answer.body, answer.headers['x-cache']]).toEqual([{ version }, cache]);
        }
      }
    } finally {
      await app.close();
    }
  });

  it('gives hosts responses of their own', async () => {
    @Controller({ path: 'hosts', host: ':tenant.example.com' })
    class Tenants {
      runs = 0;

      @Get()
      @CacheResponse(PUBLIC)
      find(): object {
        return { run: ++this.runs };
      }
    }
    const app = await start(topology, [Tenants]);
    try {
      for (const [host, run] of [
        ['a', 1],
        ['b', 2],
        ['a', 1],
      ] as const) {
        const server = app.getHttpServer() as App;
        expect((await request(server).get('/hosts').set('Host', `${host}.example.com`)).body).toEqual({ run });
      }
    } finally {
      await app.close();
    }
  });

  it('runs methods that are called without a request, and inherited handlers by their own class', async () => {
    class Base {
      @Get()
      @CacheResponse(PUBLIC)
      find(): object {
        return { from: this.constructor.name };
      }
    }
    @Controller('a')
    class A extends Base {}
    @Controller('b')
    class B extends Base {}
    const app = await start(topology, [A, B]);
    try {
      expect(app.get(A).find()).toEqual({ from: 'A' });
      for (const cache of ['MISS', 'HIT']) {
        for (const name of ['A', 'B']) {
          const server = app.getHttpServer() as App;
          const answer = await request(server).get(`/${name.toLowerCase()}`);
          expect([answer.body, answer.headers['x-cache']]).toEqual([{ from: name }, cache]);
        }
      }
    } finally {
      await app.close();
    }
  });

  describe('where the module is not imported', () => {
    it('answers 500 rather than uncached', async () => {
      @Module({ controllers: [controller([], CacheResponse(PUBLIC), Get())] })
      class Outside {}
      const app = await start(topology, [], [Outside], false);
      try {
        const server = app.getHttpServer() as App;
        expect((await request(server).get('/things')).status).toBe(500);
      } finally {
        await app.close();
      }
    });
  });
});
