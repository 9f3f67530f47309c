import { describe, expect, it } from '@jest/globals';
import { InvalidOptionsError } from '../core/errors.js';
import { definePolicy, type Policy } from './policy.js';
import { PolicyBook } from './policy-book.js';
import { resolveRateLimitOptions } from './rate-limit.options.js';

const problems = (raw: unknown): string => {
  try {
    resolveRateLimitOptions(raw, 'RedisPatternsModule.forRoot()');
  } catch (error) {
    if (error instanceof InvalidOptionsError) return error.message;
    throw error;
  }
  return 'none';
};

describe('options of rate limits', () => {
  it('have defaults', () => {
    const { policies, ...options } = resolveRateLimitOptions({ policies: { api: { limit: 5, window: '1m' } } }, 'here');
    expect(options).toEqual({
      onStoreError: 'local',
      localShare: 1,
      deadline: 100,
      headers: ['draft'],
      blockCache: { max: 10_000, maxAge: 1000 },
      global: [],
      allow: undefined,
      deny: undefined,
      denyStatus: 429,
      ip: { v6Prefix: 64, trust: undefined },
    });
    expect(policies.get('api')).toEqual({
      name: 'api',
      algorithm: 'sliding-window',
      limit: 5,
      window: 60_000,
      cost: 1,
      by: 'ip',
      buckets: 10,
      align: 'first',
      burst: 5,
      shadow: false,
      onStoreError: undefined,
      block: undefined,
      resolve: undefined,
      allow: undefined,
      deny: undefined,
      denyStatus: undefined,
    });
    const block = { for: '1m', escalate: 2 } as const;
    const more = {
      lease: { algorithm: 'concurrency', limit: 5 },
      bucket: { algorithm: 'token-bucket', limit: 5, window: '1m', burst: 9, block },
    } as const;
    const parsed = resolveRateLimitOptions({ policies: more }, 'here').policies;
    expect(parsed.get('lease')).toMatchObject({ window: 30_000, burst: 5 });
    expect(parsed.get('bucket')).toMatchObject({ burst: 9, block: { for: 60_000, escalate: 2, max: 86_400_000 } });
    expect(resolveRateLimitOptions(undefined, 'here').policies.size).toBe(0);
  });

  it.each<[string, object, RegExp]>([
    ['an unknown option', { polices: {} }, /rateLimit\.polices: unknown option; did you mean 'policies'\?/],
    [
      'an unknown option of a policy',
      { policies: { api: { limit: 1, window: 1000, windw: 1 } } },
      /rateLimit\.policies\.api\.windw: .*'window'/,
    ],
    ['no limit', { policies: { api: { window: '1s' } } }, /rateLimit\.policies\.api\.limit: must be an integer/],
    ['no window', { policies: { api: { limit: 1 } } }, /rateLimit\.policies\.api\.window: is required/],
    ['a limit of 0', { policies: { api: { limit: 0, window: '1s' } } }, /api\.limit: must be an integer from 1/],
    [
      'a broken window',
      { policies: { api: { limit: 1, window: '1 minute' } } },
      /api\.window: '1 minute' is not a duration/,
    ],
    [
      'a window too short for its buckets',
      { policies: { api: { limit: 1, window: 9 } } },
      /api\.window: must be at least 1 ms for each of the 10/,
    ],
    [
      'a cost above the limit',
      { policies: { api: { limit: 2, window: '1s', cost: 3 } } },
      /api\.cost: is above the limit of 2/,
    ],
    [
      'an algorithm that is not there',
      { policies: { api: { algorithm: 'bucket', limit: 1, window: 99 } } },
      /api\.algorithm: must be 'sliding-window', 'fixed-window', /,
    ],
    [
      'an option of another algorithm',
      { policies: { api: { limit: 1, window: 99, align: 'clock' } } },
      /api\.align: is an option of 'fixed-window' only/,
    ],
    [
      'buckets of a fixed window',
      { policies: { api: { algorithm: 'fixed-window', limit: 1, window: 99, buckets: 5 } } },
      /api\.buckets: is an option of 'sliding/,
    ],
    [
      'a wrong by',
      { policies: { api: { limit: 1, window: 99, by: 'name' } } },
      /api\.by: must be 'ip', 'user' or a function/,
    ],
    [
      'a policy name that would be escaped',
      { policies: { 'a b': { limit: 1, window: 99 } } },
      /a policy name is 1 to 64 letters/,
    ],
    ...(
      [
        ['a burst of a log', { algorithm: 'sliding-log', burst: 5 }, /x\.burst: is an option of 'token-bucket' only/],
        [
          'a lease of a bucket',
          { algorithm: 'token-bucket', lease: 500 },
          /x\.lease: is an option of 'concurrency' only/,
        ],
        [
          'a window of leases',
          { algorithm: 'concurrency' },
          /x\.window: is an option of all algorithms but 'concurrency'/,
        ],
        ['a log of too many', { algorithm: 'sliding-log', limit: 10_001 }, /x\.limit: must be at most 10000 with 'sl/],
        [
          'a bucket too fast',
          { algorithm: 'token-bucket', limit: 100_001 },
          /x\.limit: must be at most 1 000 000 units/,
        ],
        [
          'a cost above the burst',
          { algorithm: 'token-bucket', burst: 2, cost: 3 },
          /x\.cost: is above the burst of 2/,
        ],
        ['a bucket for ever', { algorithm: 'token-bucket', burst: 1e12 }, /x\.burst: takes more than 30 years to fill/],
        ['a block without a time', { block: {} }, /x\.block\.for: is required/],
        ['a block that shrinks', { block: { for: 5, escalate: 0.5 } }, /x\.block\.escalate: must be a number from 1/],
        [
          'a longest block below the first',
          { block: { for: 5, max: 4 } },
          /x\.block\.max: must be at least as long as/,
        ],
        ['a network that is none', { allow: ['10.0.0.0/40'] }, /x\.allow\[0\]: must be a subject such as/],
        ['a wrong status', { denyStatus: 401 }, /x\.denyStatus: must be 429 or 403/],
        ['a resolve that is no function', { resolve: true }, /x\.resolve: must be a function/],
      ] as const
    ).map(([what, policy, message]): [string, object, RegExp] => [
      what,
      { policies: { x: { limit: 1, window: 99, ...policy } } },
      message,
    ]),
    [
      'an unknown global policy',
      { global: ['apj'], policies: { api: { limit: 1, window: 99 } } },
      /global\[0\]: .*'api'/,
    ],
    [
      'a global policy twice',
      { global: ['a', 'a'], policies: { a: { limit: 1, window: 99 } } },
      /global\[1\]: .* twice/,
    ],
    ['a proxy that is no network', { ip: { trust: ['user:7'] } }, /ip\.trust\[0\]: must be an address or a network/],
    ['no list of subjects', { deny: 'user:7' }, /rateLimit\.deny: must be a list of subjects and networks/],
    ['a cache of nothing', { blockCache: { max: 0 } }, /rateLimit\.blockCache\.max: must be an integer from 1/],
    ['a share of 0', { localShare: 0 }, /rateLimit\.localShare: must be above 0/],
    ['a wrong choice', { onStoreError: 'ignore' }, /rateLimit\.onStoreError: must be 'local', 'open' or 'closed'/],
    ['a wrong prefix', { ip: { v6Prefix: 0 } }, /rateLimit\.ip\.v6Prefix: must be an integer from 1 to 128/],
  ])('refuse %s by name', (_what, raw, message) => {
    expect(problems(raw)).toMatch(message);
  });
});

describe('definePolicy', () => {
  it('gives a frozen value with its name', () => {
    const policy = definePolicy('login', { limit: 5, window: '15m' });
    expect(policy).toEqual({ name: 'login', limit: 5, window: '15m' });
    expect(Object.isFrozen(policy)).toBe(true);
  });

  it('refuses what cannot work where it is written', () => {
    expect(() => definePolicy('login', { limit: 5 } as Policy)).toThrow(
      /definePolicy\('login'\):\n {2}- window: is required/,
    );
    expect(() => definePolicy('a b', { limit: 5, window: '1s' })).toThrow(/name: is needed .* a policy name is/);
  });
});

describe('PolicyBook', () => {
  const { policies } = resolveRateLimitOptions({ policies: { api: { limit: 5, window: '1m' } } }, 'here');
  const inline = { limit: 1, window: '1s' } as const;

  it('knows a policy of one name however often it is declared', () => {
    const book = new PolicyBook(policies);
    const login = definePolicy('login', { limit: 5, window: '15m' });
    const again = definePolicy('login', { window: '15m', limit: 5 });
    const site = {};
    for (let n = 0; n < 2; n++) {
      for (const policy of [login, again]) expect(book.declare(policy, 'A.b', 'A.b', site).limit).toBe(5);
      expect(book.declare(inline, 'A.b', 'A.b', site).name).toBe('A.b');
    }
    expect(book.names).toEqual(['api', 'login', 'A.b']);
  });

  it('refuses two policies of one name, and inline ones of two classes of one name', () => {
    const book = new PolicyBook(policies);
    const clash = definePolicy('api', { limit: 6, window: '1m' });
    expect(() => book.declare(clash, 'A.b', 'A.b with @RateLimit', {})).toThrow(
      /A\.b with @RateLimit:\n {2}- policy 'api': is another policy in rateLimit\.policies/,
    );
    book.declare(inline, 'A.b', 'A.b', {});
    expect(() => book.declare(inline, 'A.b', 'A.b', {})).toThrow(/policy 'A\.b': is another policy in A\.b/);
  });
});
