import { Controller, Get, Injectable, Logger, SetMetadata } from '@nestjs/common';
import { MessagePattern } from '@nestjs/microservices';
import { Test } from '@nestjs/testing';
import { Observable, lastValueFrom, of } from 'rxjs';
import request from 'supertest';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { RateLimitUnavailableError } from '../../../libs/redis-patterns/src/rate-limit/index.js';
import {
  RateLimit,
  RateLimitHttpException,
  SkipRateLimit,
} from '../../../libs/redis-patterns/src/rate-limit/nest/index.js';
import { boot } from './boot-app.js';

beforeEach(() => {
  jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => {});
});
afterEach(() => {
  jest.restoreAllMocks();
});

it('says which messages are not limited by policies of all handlers, and that a proxy is not trusted', async () => {
  @Controller()
  class Handlers {
    @Get('list')
    list(): void {}

    @MessagePattern('open')
    open(): void {}

    @MessagePattern('skipped')
    @SkipRateLimit('api')
    skipped(): void {}
  }
  const warn = jest.mocked(Logger.prototype.warn);
  const app = await boot({ controllers: [Handlers] }, { global: ['api'] });
  const warnings = () => warn.mock.calls.map(([message]) => String(message));
  expect(warnings().filter((each) => each.includes('does not limit'))).toEqual([
    expect.stringMatching(/rateLimit\.global does not limit the messages of Handlers\.open: they have no address/),
  ]);
  for (let call = 0; call < 2; call++) {
    expect((await request(app.getHttpServer()).get('/list').set('X-Forwarded-For', '192.0.2.1')).status).toBe(200);
  }
  expect(warnings().filter((each) => each.includes('trusts no proxy'))).toHaveLength(1);
  await app.close();
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
