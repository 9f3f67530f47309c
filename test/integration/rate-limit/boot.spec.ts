import { Controller, Get, Injectable, Logger, Module, type Type } from '@nestjs/common';
import { Query, Resolver } from '@nestjs/graphql';
import { MessagePattern } from '@nestjs/microservices';
import { Test } from '@nestjs/testing';
import { SubscribeMessage } from '@nestjs/websockets';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { InvalidOptionsError } from '../../../libs/redis-patterns/src/core/index.js';
import { RedisPatternsModule } from '../../../libs/redis-patterns/src/nest/redis-patterns.module.js';
import { definePolicy } from '../../../libs/redis-patterns/src/rate-limit/index.js';
import { RateLimit, SkipRateLimit } from '../../../libs/redis-patterns/src/rate-limit/nest/index.js';
import { boot, NOWHERE, type Classes } from './boot-app.js';

async function bootError(classes: Classes): Promise<string> {
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
    const wrong = { by: 'name', cost: -1, skipIf: true, cots: 1, countWhen: 'sometimes' } as never;
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
    expect(message).toMatch(/- countWhen: must be 'always' or 'failure'/);
    expect(message).toMatch(/- by: must be 'ip', 'user' or a function/);
  });

  it('a cost that no call could ever pay', async () => {
    @Controller()
    class Handlers {
      @Get()
      @RateLimit('api', { cost: 4 })
      list(): void {}
    }
    @Injectable()
    class Methods {
      @RateLimit(['api', 'closed'], { by: () => 'all', cost: 99 })
      async run(): Promise<void> {}
    }
    @Controller()
    class Fits {
      @Get()
      @RateLimit({ limit: 3, window: '1m', resolve: () => ({ limit: 5 }) }, { cost: 4 })
      list(): void {}
    }
    expect(await bootError({ controllers: [Handlers] })).toMatch(
      /Handlers\.list with @RateLimit:\n {2}- cost: is above the 3 of 'api': no call could ever pass/,
    );
    expect(await bootError({ providers: [Methods] })).toMatch(/Methods\.run with @RateLimit:\n {2}- cost: is above/);
    await (await boot({ controllers: [Fits] })).close();
  });

  it('leases where nothing tells for sure that a handler has ended, and leases that count failures', async () => {
    @Controller()
    @RateLimit('leased')
    class Messages {
      @MessagePattern('run')
      run(): void {}
    }
    @Injectable()
    class Sockets {
      @SubscribeMessage('run')
      @RateLimit(['api', 'leased'])
      run(): void {}
    }
    @Resolver()
    class Queries {
      @Query('run')
      @RateLimit('leased')
      run(): void {}
    }
    @Controller()
    class Failures {
      @Get()
      @RateLimit('leased', { countWhen: 'failure' })
      list(): void {}
    }
    for (const [place, classes] of [
      ['Messages.run', { controllers: [Messages] }],
      ['Sockets.run', { providers: [Sockets] }],
      ['Queries.run', { providers: [Queries] }],
    ] as [string, Classes][]) {
      const message = await bootError(classes);
      expect(message).toContain(
        `${place} with @RateLimit:\n  - policy 'leased': is a 'concurrency' policy, which works on`,
      );
      expect(message).toContain('RateLimitService.acquire()');
    }
    expect(await bootError({ controllers: [Failures] })).toMatch(/countWhen: does not go with 'leased'/);
  });

  it('a decorator on a class alone, where there is no connection for it', async () => {
    @Controller()
    @RateLimit({ limit: 1, window: '1m' })
    class Handlers {
      @Get()
      list(): void {}
    }
    const module = Test.createTestingModule({
      imports: [RedisPatternsModule.forRoot({ namespace: 'boot', connections: { other: NOWHERE } })],
      controllers: [Handlers],
    }).compile();
    const app = (await module).createNestApplication();
    await expect(app.init()).rejects.toThrow(/rateLimit\.connection: is needed/);
    await app.close();
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
    expect(await bootError({ providers: [Stacked] })).toMatch(
      /Stacked\.run with @RateLimit:\n {2}- is there twice; list/,
    );
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
    @Controller()
    class SkipsNumbers {
      @Get()
      @SkipRateLimit(5 as never)
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
    expect(await bootError({ controllers: [SkipsNumbers] })).toMatch(/SkipRateLimit:\n {2}- policies: must be names/);
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
