import type { ExecutionContext } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  PATTERNS_RUNTIME,
  type PatternsRuntime,
} from '../../../libs/redis-patterns/src/nest/method-decorator/index.js';
import { RedisPatternsModule } from '../../../libs/redis-patterns/src/nest/redis-patterns.module.js';
import { RateLimitExceededError, RateLimitSubjectError } from '../../../libs/redis-patterns/src/rate-limit/index.js';
import {
  RateLimit,
  RateLimitGuard,
  RateLimitHttpException,
} from '../../../libs/redis-patterns/src/rate-limit/nest/index.js';

/** What the guard is asked where there is no HTTP; Redis is not there either, so that this process counts. */
describe('the guard of @RateLimit without HTTP', () => {
  let guard: RateLimitGuard;
  let close: () => Promise<void>;
  let owner: new () => object;

  beforeAll(async () => {
    const connection = { port: 1, startup: 'background' } as const;
    const rateLimit = { deadline: 20, policies: { api: { limit: 2, window: '1m' } } } as const;
    const module = await Test.createTestingModule({
      imports: [RedisPatternsModule.forRoot({ namespace: 'contexts', connection, rateLimit })],
    }).compile();
    await module.init();
    guard = new RateLimitGuard(module.get<PatternsRuntime>(PATTERNS_RUNTIME), undefined);
    close = () => module.close();
  });
  afterAll(() => close());
  beforeEach(() => {
    owner = class {};
  });

  const context = (type: string, args: unknown[], handler: object = () => {}): ExecutionContext =>
    ({
      getType: () => type,
      getArgs: () => args,
      getArgByIndex: (index: number) => args[index],
      getClass: () => owner,
      getHandler: () => handler,
    }) as unknown as ExecutionContext;
  const limited = (by: 'ip' | ((context: never) => string)) => RateLimit('api', { by })(owner);

  it.each(['rpc', 'ws'])('counts each message of %s, and throws the plain error', async (type) => {
    limited(() => `all of ${type}`);
    const client = {};
    for (let message = 1; message <= 2; message++) {
      expect(await guard.canActivate(context(type, [client, { message }]))).toBe(true);
    }
    const refused = await guard.canActivate(context(type, [client, {}])).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(RateLimitExceededError);
  });

  it('cannot tell an address from a message', async () => {
    limited('ip');
    await expect(guard.canActivate(context('rpc', [{}]))).rejects.toThrow(RateLimitSubjectError);
    await expect(guard.canActivate(context('rpc', [{}]))).rejects.toThrow(/'ip' cannot be told from a rpc message/);
  });

  it('charges a GraphQL operation once, however many resolvers it runs at once, and refuses all of them', async () => {
    limited('ip');
    const operation = async (resolvers: number) => {
      const req = { ip: '192.0.2.7' };
      const runs = Array.from({ length: resolvers }, () =>
        guard.canActivate(context('graphql', [{}, {}, { req }, {}])),
      );
      return (await Promise.allSettled(runs)).map((run) =>
        run.status === 'fulfilled' ? run.value : (run.reason as unknown),
      );
    };
    expect(await operation(3)).toEqual([true, true, true]);
    expect(await operation(3)).toEqual([true, true, true]);
    const refused = await operation(3);
    expect(refused.every((each) => each instanceof RateLimitHttpException && each.getStatus() === 429)).toBe(true);
  });
});
