import { Controller, Get, Injectable, Logger, Module, SetMetadata, type Type } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { Observable, lastValueFrom, of } from 'rxjs';
import request from 'supertest';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { InvalidOptionsError } from '../../../libs/redis-patterns/src/core/index.js';
import { RedisPatternsModule } from '../../../libs/redis-patterns/src/nest/redis-patterns.module.js';
import {
  definePolicy,
  RateLimitUnavailableError,
  type RateLimitOptions,
} from '../../../libs/redis-patterns/src/rate-limit/index.js';
import {
  RateLimit,
  RateLimitHttpException,
  SkipRateLimit,
} from '../../../libs/redis-patterns/src/rate-limit/nest/index.js';

/** Nothing listens there: these specs are about what happens without Redis. */
const NOWHERE = { port: 1, startup: 'background' } as const;
const POLICIES = {
  api: { limit: 3, window: '1m' },
  user: { limit: 3, window: '1m', by: 'user' },
  closed: { limit: 3, window: '1m', onStoreError: 'closed' },
} satisfies RateLimitOptions['policies'];

async function boot(classes: { controllers?: Type[]; providers?: Type[] }, rateLimit: RateLimitOptions = {}) {
  const options = {
    namespace: 'boot',
    connection: NOWHERE,
    rateLimit: { policies: POLICIES, deadline: 50, ...rateLimit },
  };
  const module = await Test.createTestingModule({
    imports: [RedisPatternsModule.forRoot(options)],
    ...classes,
  }).compile();
  const app = module.createNestApplication();
  try {
    return await app.init();
  } catch (error) {
    await app.close();
    throw error;
  }
}

async function bootError(classes: { controllers?: Type[]; providers?: Type[] }): Promise<string> {
  const error = await boot(classes).then(
    (app) => app.close().then(() => new Error('it has started')),
    (reason: unknown) => reason as Error,
  );
  expect(error).toBeInstanceOf(InvalidOptionsError);
  return error.message;
}

beforeEach(() => {
  jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => {});
});
afterEach(() => {
  jest.restoreAllMocks();
});

describe('what cannot work fails the boot', () => {
  it('an unknown policy on a handler, a class and a method', async () => {
    @Controller()
    class Handlers {
      @Get()
      @RateLimit('apy')
      list(): void {}
    }
    @Controller()
    @RateLimit('usr')
    class WholeClass {
      @Get()
      list(): void {}
    }
    @Injectable()
    class Methods {
      @RateLimit('closd', { by: () => 'all' })
      async run(): Promise<void> {}
    }
    expect(await bootError({ controllers: [Handlers] })).toMatch(
      /Handlers\.list with @RateLimit:\n {2}- policy 'apy': is not defined; did you mean 'api'\?/,
    );
    expect(await bootError({ controllers: [WholeClass] })).toMatch(
      /WholeClass with @RateLimit:\n.*did you mean 'user'\?/,
    );
    expect(await bootError({ providers: [Methods] })).toMatch(
      /Methods\.run with @RateLimit:\n.*did you mean 'closed'\?/,
    );
  });

  it('a policy that cannot work, or is listed twice', async () => {
    @Controller()
    class Broken {
      @Get()
      @RateLimit({ limit: 0, window: '1m' })
      list(): void {}
    }
    @Controller()
    class Twice {
      @Get()
      @RateLimit(['api', 'closed', 'api'])
      list(): void {}
    }
    expect(await bootError({ controllers: [Broken] })).toMatch(
      /Broken\.list with @RateLimit:\n {2}- limit: must be an integer/,
    );
    expect(await bootError({ controllers: [Twice] })).toMatch(
      /Twice\.list with @RateLimit:\n {2}- policy 'api': is listed twice/,
    );
  });

  it('options that do not fit, from where types are not looked at', async () => {
    const wrong = { by: 'name', cost: -1, skipIf: true, cots: 1 } as never;
    @Controller()
    class Handlers {
      @Get()
      @RateLimit('api', wrong)
      list(): void {}
    }
    const message = await bootError({ controllers: [Handlers] });
    expect(message).toMatch(/- cots: unknown option; did you mean 'cost'\?/);
    expect(message).toMatch(/- cost: must be an integer from 0, or a function/);
    expect(message).toMatch(/- skipIf: must be a function/);
    expect(message).toMatch(/- by: must be 'ip', 'user' or a function/);
  });

  it('policies of one handler that count different subjects', async () => {
    @Controller()
    @RateLimit('api')
    class Mixed {
      @Get()
      @RateLimit('user')
      list(): void {}
    }
    expect(await bootError({ controllers: [Mixed] })).toMatch(
      /Mixed\.list with @RateLimit:\n {2}- by: 'user' counts by 'user', 'api' counts by 'ip'; .* the same 'by'/,
    );
  });

  it('a method that does not say who is counted, and two decorators on one', async () => {
    @Injectable()
    class Methods {
      @RateLimit('api')
      async run(): Promise<void> {}
    }
    @Injectable()
    class Stacked {
      @RateLimit('api', { by: () => 'all' })
      @RateLimit('user', { by: () => 'all' })
      async run(): Promise<void> {}
    }
    expect(await bootError({ providers: [Methods] })).toMatch(
      /Methods\.run with @RateLimit:\n {2}- by: must be a function of the arguments.*\(\) => 'all'/,
    );
    expect(await bootError({ providers: [Stacked] })).toMatch(/Stacked\.run with @RateLimit: is there twice; list/);
  });

  it('a class that handles no requests, as nothing would be limited', async () => {
    @Injectable()
    @RateLimit('api')
    class Service {
      async run(): Promise<void> {}
    }
    expect(await bootError({ providers: [Service] })).toMatch(
      /Service with @RateLimit:\n {2}- the class handles no requests/,
    );
  });

  it('a handler whose guard is lost, as a decorator has replaced the method', async () => {
    const replace = (_target: object, _key: string, descriptor: PropertyDescriptor): void => {
      const original = descriptor.value as () => unknown;
      descriptor.value = function (this: unknown) {
        return original.call(this);
      };
    };
    @Controller()
    class Replaced {
      @Get()
      @replace
      @RateLimit('api')
      list(): void {}
    }
    expect(await bootError({ controllers: [Replaced] })).toMatch(
      /Replaced\.list with @RateLimit:\n {2}- its guard is lost/,
    );
  });

  it('a skip of what is not defined, and one where nothing is handled', async () => {
    @Controller()
    @RateLimit('api')
    class Skips {
      @Get()
      @SkipRateLimit('ap')
      list(): void {}
    }
    @Controller()
    @RateLimit('api')
    class SkipsApi {
      @Get()
      @SkipRateLimit('apii')
      list(): void {}
    }
    @Injectable()
    class Idle {
      @SkipRateLimit()
      async run(): Promise<void> {}
    }
    expect(await bootError({ controllers: [Skips] })).toMatch(
      /Skips\.list with @SkipRateLimit:\n {2}- policy 'ap': is not defined/,
    );
    expect(await bootError({ controllers: [SkipsApi] })).toMatch(/did you mean 'api'\?/);
    expect(await bootError({ providers: [Idle] })).toMatch(/Idle\.run with @SkipRateLimit:\n {2}- has no effect/);
  });

  it('two policies of one name: by definition, or by two classes of one name', async () => {
    const other = definePolicy('api', { limit: 4, window: '1m' });
    const make = (): Type => {
      @Controller()
      class Same {
        @Get()
        @RateLimit({ limit: 1, window: '1m' })
        list(): void {}
      }
      return Same;
    };
    @Controller()
    class Defined {
      @Get()
      @RateLimit(other)
      list(): void {}
    }
    expect(await bootError({ controllers: [Defined] })).toMatch(
      /Defined\.list with @RateLimit:\n {2}- policy 'api': is another policy in rateLimit\.policies/,
    );
    // One class name can be provided once only in a module.
    @Module({ controllers: [make()] })
    class Here {}
    @Module({ controllers: [make()] })
    class There {}
    const options = { namespace: 'boot', connection: NOWHERE };
    const compiled = Test.createTestingModule({
      imports: [RedisPatternsModule.forRoot(options), Here, There],
    }).compile();
    const app = (await compiled).createNestApplication();
    await expect(app.init()).rejects.toThrow(/policy 'Same\.list': is another policy in Same\.list with @RateLimit/);
    await app.close();
  });
});

describe('without Redis', () => {
  const get = (app: { getHttpServer(): unknown }, path: string) => request(app.getHttpServer() as never).get(path);

  @Controller()
  class Handlers {
    @Get('api')
    @RateLimit('api')
    api(): string {
      return 'api';
    }

    @Get('closed')
    @RateLimit(['api', 'closed'])
    closed(): string {
      return 'closed';
    }
  }

  @Injectable()
  class Methods {
    runs = 0;

    @RateLimit('api', { by: (who: string) => who })
    observe(_who: string): Observable<number> {
      return of(++this.runs, ++this.runs);
    }

    @RateLimit('closed', { by: (who: string) => who, skipIf: (who: string) => who === 'free' })
    async closed(_who: string): Promise<number> {
      return ++this.runs;
    }
  }

  it('a handler counts in this process and shows no numbers, and a closed one answers 503 with Retry-After', async () => {
    const error = jest.spyOn(Logger.prototype, 'error');
    const app = await boot({ controllers: [Handlers] });
    const answers = [];
    for (let call = 0; call < 4; call++) answers.push(await get(app, '/api'));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 429]);
    expect(answers.map(({ headers }) => headers['ratelimit'])).toEqual(Array(4).fill(undefined));
    expect(answers[3]!.headers['retry-after']).toBe('20');
    const { status, headers, body } = await get(app, '/closed');
    expect([status, headers['retry-after']]).toEqual([503, '1']);
    expect(headers['content-type']).toMatch(/^application\/problem\+json/);
    expect(body).toEqual({
      type: 'about:blank',
      title: 'Service Unavailable',
      status: 503,
      detail: "Rate limit 'closed' cannot be decided now; try again in 1 s",
      retryAfter: 1,
    });
    expect(error).not.toHaveBeenCalled();
    await app.close();
  });

  it('a method counts in this process, for each subscription, and rejects where it is closed', async () => {
    const app = await boot({ providers: [Methods] });
    const methods = app.get(Methods);
    const observable = methods.observe('a');
    expect(methods.runs).toBe(0);
    for (let call = 1; call <= 3; call++) expect(await lastValueFrom(observable)).toBe(call * 2);
    await expect(lastValueFrom(observable)).rejects.toMatchObject({ code: 'ERR_RATE_LIMIT_EXCEEDED' });
    expect(methods.runs).toBe(6);
    await expect(methods.closed('a')).rejects.toBeInstanceOf(RateLimitUnavailableError);
    await expect(methods.closed('')).rejects.toMatchObject({ code: 'ERR_RATE_LIMIT_SUBJECT' });
    expect(await methods.closed('free')).toBe(7);
    await app.close();
  });

  it('metadata of other decorators stays, whether above or below', async () => {
    @Controller()
    class Marked {
      @SetMetadata('above', 1)
      @Get()
      @RateLimit('api')
      @SetMetadata('below', 2)
      list(): void {}
    }
    const app = await boot({ controllers: [Marked] });
    const handler = Object.getOwnPropertyDescriptor(Marked.prototype, 'list')!.value as object;
    expect([Reflect.getMetadata('above', handler), Reflect.getMetadata('below', handler)]).toEqual([1, 2]);
    await app.close();
  });

  it('a handler where the module is not imported fails with the remedy, never unprotected', async () => {
    jest.spyOn(Logger.prototype, 'error').mockImplementation(() => {});
    const module = await Test.createTestingModule({ controllers: [Handlers] }).compile();
    const app = await module.createNestApplication().init();
    expect((await get(app, '/api')).status).toBe(500);
    await app.close();
  });
});

it('an HTTP exception of a limit carries its cause and code', () => {
  const cause = new RateLimitUnavailableError('api', new Error('down'));
  const exception = new RateLimitHttpException(cause);
  expect(exception).toMatchObject({ message: cause.message, code: 'ERR_RATE_LIMIT_UNAVAILABLE', cause });
  expect(exception.getStatus()).toBe(503);
});
