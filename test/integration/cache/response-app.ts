import {
  ClassSerializerInterceptor,
  Controller,
  ForbiddenException,
  Get,
  Header,
  HttpCode,
  Injectable,
  Module,
  NotFoundException,
  Param,
  Query,
  Req,
  Res,
  SerializeOptions,
  StreamableFile,
  UseInterceptors,
  type CallHandler,
  type CanActivate,
  type ExecutionContext,
  type INestApplication,
  type NestInterceptor,
  type Type,
} from '@nestjs/common';
import { APP_GUARD, APP_INTERCEPTOR, Reflector } from '@nestjs/core';
import type { AbstractHttpAdapter } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { map, of, type Observable } from 'rxjs';
import type { CacheOptions } from '../../../libs/redis-patterns/src/cache/index.js';
import { CacheResponse } from '../../../libs/redis-patterns/src/cache/nest/index.js';
import { RedisPatternsModule } from '../../../libs/redis-patterns/src/nest/redis-patterns.module.js';
import type { PlainConnection } from '../../support/topologies.js';

export interface TestRequest {
  method: string;
  headers: Record<string, string | undefined>;
  query: Record<string, unknown>;
  params: Record<string, unknown>;
  user?: { id: string | number };
}

interface TestReply {
  status(code: number): unknown;
  header(name: string, value: string): unknown;
}

export const requestIn = (context: ExecutionContext): TestRequest => context.switchToHttp().getRequest<TestRequest>();
const userIn = (context: ExecutionContext): string | number | undefined => requestIn(context).user?.id;

/** `X-User` names the user, `X-Banned` is refused. */
@Injectable()
class UserGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const request = requestIn(context);
    const id = request.headers['x-user'];
    if (request.headers['x-banned'] !== undefined) throw new ForbiddenException();
    if (id !== undefined) request.user = { id: id === 'zero' ? 0 : id };
    return true;
  }
}

/** What handlers were called with, and what stops them. */
@Injectable()
export class Journal {
  readonly calls: string[] = [];
  gate: Promise<void> | undefined;
  answer: unknown = 'answer';

  async call(text: string): Promise<void> {
    this.calls.push(text);
    await this.gate;
  }
}

/** Hides in the manner of class-transformer: by metadata of a class. */
export const transformer = {
  plainToInstance: (type: Type<object>, plain: object): object =>
    Object.assign(Object.create(type.prototype as object) as object, plain),
  classToPlain(value: object): object {
    const hidden = (value.constructor as { hidden?: string[] }).hidden ?? [];
    return Object.fromEntries(Object.entries(value).filter(([name]) => !hidden.includes(name)));
  },
};

export class User {
  static readonly hidden = ['password'];

  constructor(
    readonly name: string,
    readonly password: string,
  ) {}
}

@Injectable()
export class UserSerializer extends ClassSerializerInterceptor {
  constructor(reflector: Reflector) {
    super(reflector, { transformerPackage: transformer as never });
  }
}

/** Puts what it gets into an envelope, with the query of the request, and keeps what it has seen. */
@Injectable()
export class Envelope implements NestInterceptor {
  static readonly seen: unknown[] = [];

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(
      map((data: unknown) => {
        Envelope.seen.push(data);
        return { data, query: { ...requestIn(context).query } };
      }),
    );
  }
}

@Controller('shop')
export class ShopController {
  constructor(readonly journal: Journal) {}

  @Get('mine')
  @CacheResponse({ ttl: '1m', scope: userIn })
  async mine(@Req() request: TestRequest): Promise<object> {
    await this.journal.call(`mine ${request.user?.id}`);
    return { user: request.user?.id ?? 'nobody', run: this.journal.calls.length };
  }

  @Get('odd-scope')
  @CacheResponse({ ttl: '1m', scope: (() => ({ id: 1 })) as never })
  oddScope(): object {
    return { run: this.journal.calls.push('odd') };
  }

  @Get('shared')
  @CacheResponse({ ttl: '1m', scope: 'public', shareAuthenticated: true })
  shared(): object {
    return { run: this.journal.calls.push('shared') };
  }

  @Get('products/:id')
  @CacheResponse({ ttl: '1m', scope: 'public', query: ['page', 'sort'], headers: ['Accept-Language'] })
  async product(@Param('id') id: string, @Query() query: Record<string, unknown>, @Req() request: TestRequest) {
    await this.journal.call(`product ${id}`);
    return { id, query: { ...query }, language: request.headers['accept-language'], all: { ...request.query } };
  }

  @Get('class')
  @CacheResponse({ ttl: '1m', scope: 'public' })
  aClass(): User {
    this.journal.calls.push('class');
    return new User('Ada', 'secret');
  }

  @Get('plain')
  @SerializeOptions({ type: User as never })
  @CacheResponse({ ttl: '1m', scope: 'public' })
  plain(): object {
    this.journal.calls.push('plain');
    return { name: 'Ada', password: 'secret' };
  }

  @Get('value')
  @CacheResponse({ ttl: '1m', scope: 'public' })
  value(): Observable<unknown> {
    this.journal.calls.push('value');
    return of(this.journal.answer);
  }

  @Get('nothing')
  @CacheResponse({ ttl: '1m', negativeTtl: 0, scope: 'public' })
  nothing(): null {
    this.journal.calls.push('nothing');
    return null;
  }

  @Get('missing')
  @CacheResponse({ ttl: '1m', scope: 'public' })
  async missing(): Promise<never> {
    await this.journal.call('missing');
    throw new NotFoundException('no such thing');
  }

  @Get('reply/:kind')
  @HttpCode(202)
  @Header('X-Static', 'yes')
  @CacheResponse({ ttl: '1m', scope: 'public' })
  async reply(@Param('kind') kind: string, @Res({ passthrough: true }) reply: TestReply): Promise<unknown> {
    await this.journal.call(kind);
    switch (kind) {
      case 'created':
        reply.status(201);
        reply.header('X-Total', '7');
        reply.header('Content-Type', 'text/csv; charset=utf-8');
        return 'a;b';
      case 'teapot':
        reply.status(418);
        break;
      case 'partial':
        reply.status(206);
        break;
      case 'cookie':
        reply.header('Set-Cookie', `session=${this.journal.calls.length}`);
        break;
      case 'private':
        reply.header('Cache-Control', 'max-age=5, Private');
        break;
      case 'no-store':
        reply.header('Cache-Control', 'no-store');
        break;
      case 'vary':
        reply.header('Vary', 'Accept, *');
        break;
      case 'stream':
        return new StreamableFile(Buffer.from(`stream ${this.journal.calls.length}`));
    }
    return { kind, run: this.journal.calls.length };
  }

  @Get('tagged/:id')
  @CacheResponse({
    ttl: '1m',
    scope: 'public',
    tags: (context) => ['products', `product ${String(requestIn(context).params['id'])}`],
  })
  tagged(@Param('id') id: string): object {
    return { id, run: this.journal.calls.push(`tagged ${id}`) };
  }

  @Get('stale')
  @CacheResponse({ ttl: '50ms', jitter: 0, stale: '1m', failBackoff: '50ms', scope: 'public', query: ['page'] })
  async stale(@Req() request: TestRequest): Promise<object> {
    await this.journal.call('stale');
    if (this.journal.answer instanceof Error) throw this.journal.answer;
    return { query: { ...request.query }, run: this.journal.calls.length };
  }

  @Get('always-private')
  @Header('Cache-Control', 'private')
  @CacheResponse({ ttl: '1m', scope: 'public' })
  alwaysPrivate(): object {
    return { run: this.journal.calls.push('always-private') };
  }
}

@UseInterceptors(UserSerializer)
@Controller('serialized')
export class SerializedController {
  constructor(readonly journal: Journal) {}

  @Get('class')
  @CacheResponse({ ttl: '1m', scope: 'public' })
  aClass(): User {
    this.journal.calls.push('class');
    return new User('Ada', 'secret');
  }

  @Get('plain')
  @SerializeOptions({ type: User as never })
  @CacheResponse({ ttl: '1m', scope: 'public' })
  plain(): object {
    this.journal.calls.push('plain');
    return { name: 'Ada', password: 'secret' };
  }
}

@UseInterceptors(Envelope)
@Controller('wrapped')
class WrappedController {
  @Get()
  @CacheResponse({ ttl: '1m', scope: 'public' })
  get(): object {
    return { a: 1 };
  }
}

export interface ResponseApp {
  readonly app: INestApplication;
  readonly journal: Journal;
  /** GET, unless `init` says otherwise. */
  fetch(path: string, headers?: Record<string, string>, init?: RequestInit): Promise<Answer>;
  close(): Promise<void>;
}

export interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly text: string;
  readonly cache: string | null;
  readonly headers: Headers;
}

export interface ResponseAppOptions {
  cache?: CacheOptions;
  controllers?: Type[];
  /** An interceptor of the whole application that serializes. */
  serializeAll?: boolean;
  connection?: object;
  /** Before it listens. */
  prepare?: (app: INestApplication) => void;
}

/** An application with cached responses that listens on a port of its own. */
export async function openResponseApp(
  adapter: AbstractHttpAdapter,
  topology: { connection: PlainConnection; namespace: string },
  { cache = {}, controllers, serializeAll = false, connection = {}, prepare }: ResponseAppOptions = {},
): Promise<ResponseApp> {
  @Module({
    imports: [
      RedisPatternsModule.forRoot({
        namespace: topology.namespace,
        connection: { ...topology.connection, ...connection } as never,
        cache,
      }),
    ],
    controllers: controllers ?? [ShopController, SerializedController, WrappedController],
    providers: [
      Journal,
      { provide: APP_GUARD, useClass: UserGuard },
      ...(serializeAll ? [{ provide: APP_INTERCEPTOR, useClass: UserSerializer }] : []),
    ],
  })
  class AppModule {}

  const testing = await Test.createTestingModule({ imports: [AppModule] }).compile();
  const app = testing.createNestApplication(adapter, { logger: false });
  prepare?.(app);
  try {
    await app.listen(0, '127.0.0.1');
  } catch (error) {
    await app.close();
    throw error;
  }
  const url = await app.getUrl();
  return {
    app,
    journal: app.get(Journal),
    async fetch(path, headers = {}, init = {}): Promise<Answer> {
      const response = await fetch(url + path, { headers, ...init });
      const text = await response.text();
      const isJson = response.headers.get('content-type')?.includes('json') === true && text !== '';
      const body: unknown = isJson ? JSON.parse(text) : text;
      return { status: response.status, body, text, cache: response.headers.get('x-cache'), headers: response.headers };
    },
    close: () => app.close(),
  };
}
