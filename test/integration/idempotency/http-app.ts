import {
  Body,
  ClassSerializerInterceptor,
  ConflictException,
  Controller,
  Get,
  Header,
  Headers as HeaderOf,
  HttpCode,
  Injectable,
  Module,
  Param,
  ParseIntPipe,
  Post,
  Redirect,
  Res,
  StreamableFile,
  UseInterceptors,
  Version,
  VERSION_NEUTRAL,
  VersioningType,
  type CallHandler,
  type CanActivate,
  type ExecutionContext,
  type INestApplication,
  type NestInterceptor,
} from '@nestjs/common';
import { APP_GUARD, APP_INTERCEPTOR } from '@nestjs/core';
import type { AbstractHttpAdapter } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { Exclude } from 'class-transformer';
import { Idempotent, IdempotencyService, RedisPatternsModule, type IdempotencyOptions } from 'nestjs-redis-patterns';
import { map, timeout, type Observable } from 'rxjs';
import type { PlainConnection } from '../../support/topologies.js';

interface Reply {
  status(code: number): unknown;
  header(name: string, value: string): unknown;
}

interface TestRequest {
  headers: Record<string, string | undefined>;
  user?: object;
}

const requestIn = (context: ExecutionContext): TestRequest => context.switchToHttp().getRequest<TestRequest>();

/** What handlers were called for, and what stops them. */
@Injectable()
export class Journal {
  calls: string[] = [];
  gate: Promise<void> | undefined;
  envelopes = 0;
}

@Injectable()
class UserGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const request = requestIn(context);
    const id = request.headers['x-user'];
    if (id !== undefined) request.user = id === 'nobody' ? {} : { id };
    return request.headers['x-banned'] === undefined;
  }
}

/** An interceptor of the application that would do its work twice on an answer that comes back through it. */
@Injectable()
class Envelope implements NestInterceptor {
  constructor(private readonly journal: Journal) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    if (requestIn(context).headers['x-envelope'] === undefined) return next.handle();
    return next.handle().pipe(map((data: unknown) => ({ data, envelope: ++this.journal.envelopes })));
  }
}

/** Gives up before the handler does. */
class Hasty implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(timeout(20));
  }
}

class User {
  readonly at = new Date(0);
  @Exclude() readonly password = 'secret';

  constructor(readonly name: string) {}
}

@Controller('shop')
class ShopController {
  constructor(
    private readonly journal: Journal,
    private readonly idempotency: IdempotencyService,
  ) {}

  async #work(text: string): Promise<number> {
    const run = this.journal.calls.push(text);
    await this.journal.gate;
    return run;
  }

  @Post('orders/:id')
  @Idempotent()
  @Header('X-Fixed', 'always')
  async order(@Param('id', ParseIntPipe) id: number, @Body() body: object, @Res({ passthrough: true }) reply: Reply) {
    const run = await this.#work(`order ${id}`);
    reply.status(202);
    reply.header('X-Run', String(run));
    reply.header('Set-Cookie', `run=${run}`);
    return { id, body, run, é: '€', fence: String(this.idempotency.current()?.fence) };
  }

  @Post('users/:name')
  @Idempotent()
  @UseInterceptors(ClassSerializerInterceptor)
  async user(@Param('name') name: string): Promise<User> {
    await this.#work(`user ${name}`);
    return new User(name);
  }

  @Post('text')
  @Idempotent()
  async text(): Promise<string> {
    return `text ${await this.#work('text')}`;
  }

  @Post('empty')
  @HttpCode(204)
  @Idempotent()
  async empty(): Promise<void> {
    await this.#work('empty');
  }

  @Post('moved')
  @Redirect('/shop/elsewhere', 303)
  @Idempotent()
  async moved(): Promise<{ url: string }> {
    return { url: `/shop/orders/${await this.#work('moved')}` };
  }

  @Post('optional')
  @Idempotent({ required: false, header: 'X-Request-Key', scope: (context) => requestIn(context).headers['x-tenant'] })
  async optional(): Promise<number[]> {
    return [await this.#work('optional')];
  }

  @Post('wait')
  @Idempotent({ onBusy: 'wait' })
  async wait(): Promise<number[]> {
    return [await this.#work('wait')];
  }

  @Post('open')
  @Idempotent({ onStoreError: 'open' })
  async open(): Promise<number[]> {
    return [await this.#work('open')];
  }

  @Post('fail')
  @Idempotent()
  async fail(): Promise<never> {
    throw new ConflictException(`failure ${await this.#work('fail')}`);
  }

  @Post('fail/kept')
  @Idempotent({ store: '4xx' })
  async failKept(@HeaderOf('x-status') status: string, @Res({ passthrough: true }) reply: Reply): Promise<object> {
    const run = await this.#work('fail kept');
    reply.header('X-Run', String(run));
    if (status === '409') throw new ConflictException(`failure ${run}`);
    if (status === '500') throw new Error('broken');
    reply.status(Number(status));
    return { run };
  }

  @Post('big')
  @Idempotent({ maxBody: 1000 })
  async big(): Promise<{ big: string }> {
    await this.#work('big');
    return { big: 'x'.repeat(2000) };
  }

  @Post('stream')
  @Idempotent()
  async stream(): Promise<StreamableFile> {
    await this.#work('stream');
    return new StreamableFile(Buffer.from('a file'));
  }

  @Post('stream/rerun')
  @Idempotent({ onUnkept: 'rerun' })
  async streamRerun(): Promise<StreamableFile> {
    return new StreamableFile(Buffer.from(`run ${await this.#work('stream')}`));
  }

  @Post('versioned')
  @Version('1')
  @Idempotent()
  async one(): Promise<string[]> {
    await this.#work('one');
    return ['one'];
  }

  @Post('versioned')
  @Version('2')
  @Idempotent()
  async two(): Promise<string[]> {
    await this.#work('two');
    return ['two'];
  }

  @Post('hasty')
  @Idempotent()
  @UseInterceptors(Hasty)
  async hasty(): Promise<number[]> {
    return [await this.#work('hasty')];
  }

  @Get('unmarked')
  unmarked(): number {
    return this.journal.calls.push('unmarked');
  }
}

export interface HttpApp {
  readonly app: INestApplication;
  readonly journal: Journal;
  readonly service: IdempotencyService;
  post(path: string, headers?: Record<string, string>, body?: unknown): Promise<Answer>;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** The shop on one framework, listening. Whoever opens it closes it. */
export async function openHttpApp(
  adapter: AbstractHttpAdapter,
  { namespace, connection }: { namespace: string; connection: PlainConnection | object },
  idempotency: IdempotencyOptions = {},
): Promise<HttpApp> {
  @Module({
    imports: [RedisPatternsModule.forRoot({ namespace, connection: connection as never, idempotency })],
    controllers: [ShopController],
    providers: [Journal, { provide: APP_GUARD, useClass: UserGuard }, { provide: APP_INTERCEPTOR, useClass: Envelope }],
  })
  class ShopModule {}

  const built = await Test.createTestingModule({ imports: [ShopModule] }).compile();
  const app = built.createNestApplication(adapter, { logger: false });
  app.enableVersioning({ type: VersioningType.HEADER, header: 'X-Version', defaultVersion: VERSION_NEUTRAL });
  await app.listen(0, '127.0.0.1');
  const url = await app.getUrl();
  return {
    app,
    journal: app.get(Journal),
    service: app.get(IdempotencyService),
    post: async (path, headers = {}, body = {}) => {
      const response = await fetch(`${url}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
        redirect: 'manual',
      });
      return { status: response.status, headers: response.headers as never, text: await response.text() };
    },
  };
}
