import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  Controller,
  createParamDecorator,
  Get,
  Header,
  HttpCode,
  Injectable,
  Param,
  ParseIntPipe,
  Post,
  SetMetadata,
  UseGuards,
  UseInterceptors,
  type CallHandler,
  type CanActivate,
  type ExecutionContext,
  type INestApplication,
  type NestInterceptor,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { map, Observable, of } from 'rxjs';
import request from 'supertest';
import type { App } from 'supertest/types.js';
import { Recorder, Traced, TracedModule } from '../../../../../test/support/traced-pattern.js';
import { isRequestHandler } from './request-handler.js';

@Injectable()
class RoleGuard implements CanActivate {
  constructor(private readonly reflector: Reflector) {}
  canActivate(context: ExecutionContext): boolean {
    return this.reflector.get('role', context.getHandler()) === 'reader';
  }
}

@Injectable()
class Wrap implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(map((body: unknown) => ({ wrapped: body })));
  }
}

const Client = createParamDecorator((_data: unknown, context: ExecutionContext): string => {
  return context.switchToHttp().getRequest<{ headers: Record<string, string> }>().headers['x-client'] ?? 'none';
});

@Controller('below')
class Below {
  @Traced()
  @Get(':id')
  @Header('x-kept', 'yes')
  @UseGuards(RoleGuard)
  @UseInterceptors(Wrap)
  @SetMetadata('role', 'reader')
  async read(@Param('id', ParseIntPipe) id: number, @Client() client: string): Promise<object> {
    return { id, client };
  }
}

@Controller('above')
class Above {
  @Get(':id')
  @Header('x-kept', 'yes')
  @UseGuards(RoleGuard)
  @UseInterceptors(Wrap)
  @SetMetadata('role', 'reader')
  @Traced()
  async read(@Param('id', ParseIntPipe) id: number, @Client() client: string): Promise<object> {
    return { id, client };
  }
}

@Controller('derived')
class Derived extends Below {}

@Controller('other')
class Other {
  @Post()
  @HttpCode(202)
  @Traced()
  watch(): Observable<object> {
    return of({ watched: true });
  }

  @Traced()
  @Get()
  @UseGuards(RoleGuard)
  @SetMetadata('role', 'writer')
  async refused(): Promise<string> {
    return 'never';
  }
}

describe('a decorated request handler', () => {
  let app: INestApplication<App>;
  let recorder: Recorder;
  beforeAll(async () => {
    const moduleRef = await Test.createTestingModule({
      imports: [TracedModule.forRoot()],
      controllers: [Below, Above, Derived, Other],
    }).compile();
    app = moduleRef.createNestApplication<INestApplication<App>>();
    await app.init();
    recorder = app.get(Recorder);
  });
  afterAll(() => app.close());
  beforeEach(() => {
    recorder.events.length = 0;
  });

  it.each(['below', 'above', 'derived'])(
    'keeps route, guard, interceptor, pipe, param decorators and headers (%s)',
    async (path) => {
      const response = await request(app.getHttpServer()).get(`/${path}/7`).set('x-client', 'me').expect(200);
      expect(response.body).toEqual({ wrapped: { id: 7, client: 'me' } });
      expect(response.headers['x-kept']).toBe('yes');
      const className = { below: 'Below', above: 'Above', derived: 'Derived' }[path];
      expect(recorder.events[0]).toBe(`${className}.read before(7,me)`);
    },
  );

  it('is not reached when a pipe or a guard refuses', async () => {
    await request(app.getHttpServer()).get('/below/seven').expect(400);
    await request(app.getHttpServer()).get('/other').expect(403);
    expect(recorder.events).toEqual([]);
  });

  it('may return an Observable', async () => {
    const response = await request(app.getHttpServer()).post('/other').expect(202);
    expect(response.body).toEqual({ watched: true });
    expect(recorder.events).toEqual(['Other.watch before()', 'Other.watch after=[object Object]']);
  });

  it('is known to its pattern as a handler, wherever the route is written, and inherited', () => {
    const handlers = recorder.sites.map((site) => [site.name, site.handlesRequests]);
    expect(handlers).toEqual(
      expect.arrayContaining([
        ['Below.read', true],
        ['Above.read', true],
        ['Derived.read', true],
        ['Other.watch', true],
      ]),
    );
  });
});

describe('isRequestHandler', () => {
  const withMetadata = (metadata: Record<string, unknown>): boolean => {
    class Service {
      async handle(): Promise<void> {}
    }
    const { handle } = Object.getOwnPropertyDescriptors(Service.prototype);
    for (const [key, value] of Object.entries(metadata)) Reflect.defineMetadata(key, value, handle.value as object);
    return isRequestHandler(Service.prototype, 'handle');
  };

  it.each([
    ['a message or event pattern', { 'microservices:pattern': ['orders'], 'microservices:handler_type': 2 }],
    ['a WebSocket message', { 'websockets:message_mapping': true, message: 'orders' }],
    ['a GraphQL query', { 'graphql:resolver_type': 'Query' }],
    ['a GraphQL subscription', { 'graphql:resolver_type': 'Subscription' }],
  ])('knows %s', (_what, metadata) => {
    expect(withMetadata(metadata)).toBe(true);
  });

  it.each([
    ['a plain method', {}],
    [
      'a GraphQL field, where guards do not run by default',
      { 'graphql:resolver_type': 'Product', 'graphql:resolve_property': true },
    ],
    ['metadata of its own that is called path', { path: '/tmp' }],
  ])('does not take %s for one', (_what, metadata) => {
    expect(withMetadata(metadata)).toBe(false);
  });

  it('does not run a getter, and does not know what is not there', () => {
    class Service {
      get handle(): string {
        throw new Error('read');
      }
    }
    expect(isRequestHandler(Service.prototype, 'handle')).toBe(false);
    expect(isRequestHandler(Service.prototype, 'missing')).toBe(false);
  });

  it('is false for a base method reached by super, whose guards Nest does not run', async () => {
    @Controller()
    class Overriding extends Below {
      @Get('overriding')
      override async read(): Promise<object> {
        return super.read(1, 'super');
      }
    }
    const moduleRef = await Test.createTestingModule({
      imports: [TracedModule.forRoot()],
      controllers: [Overriding],
    }).compile();
    await moduleRef.get(Overriding).read();
    expect(moduleRef.get(Recorder).sites).toMatchObject([
      { name: 'Overriding.read@Below', handlesRequests: false, overriddenHandler: true },
    ]);
    await moduleRef.close();
  });
});
