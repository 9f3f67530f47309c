import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import {
  BadRequestException,
  Controller,
  createParamDecorator,
  Get,
  Header,
  Injectable,
  Logger,
  Param,
  Query,
  Req,
  Res,
  Scope,
  UseInterceptors,
  UsePipes,
  type ArgumentMetadata,
  type CallHandler,
  type ExecutionContext,
  type NestInterceptor,
  type PipeTransform,
} from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { map, type Observable } from 'rxjs';
import { CacheResponse } from '../../../libs/redis-patterns/src/cache/nest/index.js';
import { telemetryChannel } from '../../../libs/redis-patterns/src/telemetry/index.js';
import { describeOn } from '../../support/topologies.js';
import { Envelope, Journal, openResponseApp, requestIn, type ResponseApp, type TestRequest } from './response-app.js';

/** As a validation pipe that makes classes does: takes all that it is given, and refuses what it knows to be wrong. */
@Injectable()
class Validation implements PipeTransform {
  transform(value: unknown, { type }: ArgumentMetadata): unknown {
    if (type !== 'query' || typeof value !== 'object') return value;
    if ((value as { page?: string }).page === 'bad') throw new BadRequestException('page');
    return Object.assign(new Filter(), { where: JSON.stringify(value) });
  }
}

class Filter {
  where = '';
}

/** Fails for what it is not meant for: one of a handler is given each of its parameters. */
@Injectable()
class TextOnly implements PipeTransform {
  transform(value: unknown): unknown {
    if (typeof value !== 'string') throw new BadRequestException('no text');
    return value;
  }
}

const Everything = createParamDecorator((_: unknown, context: ExecutionContext) => ({ ...requestIn(context).query }));
const user = (context: ExecutionContext) => requestIn(context).user?.id;

interface TestReply {
  header(name: string, value: string): unknown;
}

/** As a serializer with groups does. */
@Injectable()
class OnlyForAda implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    if (user(context) === 'ada') return next.handle();
    return next.handle().pipe(map((body: { open: number }) => ({ open: body.open })));
  }
}

@Controller('inputs')
class InputController {
  constructor(readonly journal: Journal) {}

  @Get('filter')
  @UsePipes(Validation)
  @UseInterceptors(Envelope)
  @CacheResponse({ ttl: '1m', scope: 'public', query: ['page'] })
  filter(@Query() filter: Filter, @Everything() all: object, @Req() request: TestRequest): object {
    this.journal.calls.push(filter.constructor.name);
    return { where: filter.where, all, request: { ...request.query } };
  }

  @Get('own/:id')
  @UsePipes(TextOnly)
  @CacheResponse({ ttl: '1m', scope: 'public' })
  own(@Param('id') id: string, unknown = 'default', ...others: unknown[]): object {
    return { id, unknown, others, run: this.journal.calls.push(id) };
  }

  @Get('vary/:name')
  @Header('Vary', 'X-Static, Accept-Encoding')
  @CacheResponse({ ttl: '1m', scope: 'public', headers: ['X-Static', 'X-Known'] })
  vary(@Param('name') name: string, @Res({ passthrough: true }) reply: TestReply): object {
    reply.header('Vary', `X-Static, ${name}`);
    return { run: this.journal.calls.push(name) };
  }

  @Get('encoded')
  @CacheResponse({ ttl: '1m', scope: 'public' })
  encoded(@Res({ passthrough: true }) reply: TestReply): object {
    reply.header('Vary', 'Accept-Encoding');
    reply.header('Content-Encoding', 'identity');
    return { run: this.journal.calls.push('encoded') };
  }

  @Get('partly')
  @UseInterceptors(OnlyForAda)
  @CacheResponse({ ttl: '1m', scope: 'public', shareAuthenticated: true })
  partly(): object {
    return { open: 1, secret: this.journal.calls.push('partly') };
  }

  @Get('of-user')
  @CacheResponse({ ttl: '1m', scope: user })
  ofUser(@Res({ passthrough: true }) reply: TestReply): object {
    reply.header('Vary', 'Cookie, Authorization');
    return { run: this.journal.calls.push('of-user') };
  }
}

@Controller({ path: 'scoped', scope: Scope.REQUEST })
class ScopedController {
  constructor(readonly journal: Journal) {}

  @Get(':id')
  @CacheResponse({ ttl: '1m', scope: 'public' })
  async find(@Param('id') id: string): Promise<object> {
    await this.journal.call(id);
    return { id };
  }
}

describeOn('standalone', 'what a cached response depends on', (topology) => {
  describe.each([
    ['Express', () => new ExpressAdapter()],
    ['Fastify', () => new FastifyAdapter()],
  ])('on %s', (framework, newAdapter) => {
    let app: ResponseApp;
    beforeAll(async () => {
      app = await openResponseApp(newAdapter(), topology, {
        controllers: [InputController, ScopedController],
        cache: { operationTimeout: '5s' },
        prepare: (opened) => opened.enableCors({ origin: ['http://a.test', 'http://b.test'] }),
      });
    });
    afterAll(() => app?.close());
    beforeEach(async () => {
      await topology.admin.deleteKeys(`${topology.namespace}:*`);
      app.journal.calls.length = 0;
    });

    const states = async (path: string, headers: Record<string, string>[]): Promise<(string | null)[]> => {
      const found = [];
      for (const one of headers) found.push((await app.fetch(path, one)).cache);
      return found;
    };

    it('is nothing of the query that is not declared, whatever reads it: pipes, parameter decorators, the request', async () => {
      Envelope.seen.length = 0;
      const evil = await app.fetch('/inputs/filter?evil=1&page=1');
      const page = { page: '1' };
      const data = { where: JSON.stringify(page), all: page, request: page };
      // The interceptor puts the query into what it makes of the answer.
      expect(evil).toMatchObject({ cache: 'MISS', body: { data, query: { evil: '1', page: '1' } } });
      expect(await app.fetch('/inputs/filter?page=1')).toMatchObject({ cache: 'HIT', body: { data, query: page } });
      expect(await app.fetch('/inputs/filter?page=1&x=2')).toMatchObject({ cache: 'HIT', body: { query: { x: '2' } } });
      expect(Envelope.seen).toEqual([data, data, data]);
      expect(app.journal.calls).toEqual(['Filter']);
    });

    it('is validated by pipes on hits as on misses', async () => {
      await app.fetch('/inputs/filter?page=1');
      expect((await app.fetch('/inputs/filter?page=bad')).status).toBe(400);
      expect((await app.fetch('/inputs/filter?page=1')).cache).toBe('HIT');
    });

    it('gives a handler and its pipes nothing but its own arguments', async () => {
      const expected = { id: '7', unknown: 'default', others: [], run: 1 };
      expect(await app.fetch('/inputs/own/7')).toMatchObject({ status: 200, cache: 'MISS', body: expected });
      expect(await app.fetch('/inputs/own/7')).toMatchObject({ status: 200, cache: 'HIT', body: expected });
      const paths = SwaggerModule.createDocument(app.app, new DocumentBuilder().build()).paths;
      expect(paths['/inputs/own/{id}']!.get!.parameters).toEqual([expect.objectContaining({ name: 'id', in: 'path' })]);
    });

    it('has no tag of its own where an interceptor sends one client less than another', async () => {
      const [ada, bob] = [{ 'x-user': 'ada' }, { 'x-user': 'bob' }];
      const all = await app.fetch('/inputs/partly', ada);
      const part = await app.fetch('/inputs/partly', bob);
      expect([all.cache, all.body, part.cache, part.body]).toEqual([
        'MISS',
        { open: 1, secret: 1 },
        'HIT',
        { open: 1 },
      ]);
      const tags = [all, part].map(({ headers }) => headers.get('etag'));
      expect(tags[0] === tags[1]).toBe(tags[0] === null);
      for (const tag of ['*', ...tags.filter((one) => one !== null)]) {
        expect(await app.fetch('/inputs/partly', { ...bob, 'if-none-match': tag })).toMatchObject({ status: 200 });
      }
    });

    it('answers for a controller that is made for each request', async () => {
      expect(await states('/scoped/1', [{}, {}])).toEqual(['MISS', 'HIT']);
      expect(app.journal.calls).toEqual(['1']);
    });

    it('must be declared when the handler names it in Vary', async () => {
      const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => {});
      const events: unknown[] = [];
      const listen = (event: unknown): unknown => events.push(event);
      subscribe(telemetryChannel('warning'), listen);
      try {
        expect(await states('/inputs/vary/X-Known', [{}, {}, { 'x-known': '1' }])).toEqual(['MISS', 'HIT', 'MISS']);
        expect(await states('/inputs/vary/X-Unknown', [{}, {}])).toEqual(['MISS', 'MISS']);
        expect(await states('/inputs/vary/X-Unknown,x-known', [{}, {}])).toEqual(['MISS', 'MISS']);
        const said = warn.mock.calls.map(([message]) => String(message)).filter((text) => text.includes('.vary'));
        expect(said).toEqual([expect.stringMatching(/depend on x-unknown; add headers: \['x-unknown'\]/)]);
        expect(events).toEqual([expect.objectContaining({ code: 'ERR_CACHE_RESPONSE_VARY', message: said[0] })]);
        expect(await states('/inputs/encoded', [{}, {}])).toEqual(['MISS', 'MISS']);
      } finally {
        unsubscribe(telemetryChannel('warning'), listen);
        warn.mockRestore();
      }
      expect(await states('/inputs/vary/Accept-Encoding', [{}, {}])).toEqual(['MISS', 'HIT']);
      const [ada, bob] = [{ 'x-user': 'ada' }, { 'x-user': 'bob' }];
      expect(await states('/inputs/of-user', [ada, ada, bob])).toEqual(['MISS', 'HIT', 'MISS']);
    });

    it('is not what middleware decides for each request anew', async () => {
      for (const [origin, cache] of [
        ['http://a.test', 'MISS'],
        ['http://b.test', 'HIT'],
        ['http://c.test', 'HIT'],
      ] as const) {
        const answer = await app.fetch('/inputs/own/9', { origin });
        expect([framework, answer.cache, answer.headers.get('vary')]).toEqual([framework, cache, 'Origin']);
        const allowed = origin === 'http://c.test' ? null : origin;
        expect(answer.headers.get('access-control-allow-origin')).toBe(allowed);
      }
    });
  });
});
