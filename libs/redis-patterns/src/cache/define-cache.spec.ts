import { describe, expect, it } from '@jest/globals';
import { InvalidOptionsError } from '../core/errors.js';
import { CachePolicy } from './cache-policy.js';
import { resolveCacheOptions } from './cache.options.js';
import { defineCache, isCacheRegion } from './define-cache.js';

describe('defineCache', () => {
  it('gives keys that begin with the resource, and the options of the entries', () => {
    const one = defineCache<[id: number], string>({ resource: 'product', key: (id) => id, ttl: '10m' });
    const two = defineCache({ resource: 'price', key: (id: number, currency: string) => [id, currency] });
    const { key } = two;
    expect(one.key(42)).toEqual(['product', 42]);
    expect(key(42, 'EUR')).toEqual(['price', 42, 'EUR']);
    expect(one.options).toEqual({ ttl: '10m' });
    expect(isCacheRegion(one)).toBe(true);
    expect(isCacheRegion({ ...one })).toBe(false);
  });

  it('refuses a definition that cannot work, and names it', () => {
    const define = (definition: object) => () => defineCache(definition as Parameters<typeof defineCache>[0]);
    expect(define({ resource: 'product', key: () => 1, ttl: 'soon' })).toThrow(/defineCache\('product'\)[^]*ttl/);
    expect(define({ resource: '', key: () => 1 })).toThrow(InvalidOptionsError);
    expect(define({ resource: 'product' })).toThrow(/key/);
    expect(define({ resource: 'product', key: () => 1, tll: 1 })).toThrow(/did you mean 'ttl'/);
  });
});

describe('options of the cache', () => {
  it('have the documented defaults', () => {
    expect(resolveCacheOptions(undefined, 'app')).toEqual({
      ttl: 300_000,
      stale: 0,
      negativeTtl: undefined,
      maxTtl: 604_800_000,
      tagTtl: 1_209_600_000,
      jitter: 0.1,
      beta: 0,
      stampede: 'distributed',
      softTimeout: 0,
      hardTimeout: Infinity,
      failBackoff: 5_000,
      lease: 4_000,
      wait: 5_000,
      maxHold: 60_000,
      useL1: true,
      l1: undefined,
      schemaVersion: 0,
      operationTimeout: 150,
      onInvalidationError: 'defer',
      warnBytes: 102_400,
      maxBytes: 1_048_576,
      onOversize: 'skip',
      tagIndex: false,
      maxRecovery: 10_000,
      values: expect.any(Object),
      compression: undefined,
      connection: undefined,
    });
  });

  it.each([
    ['ttl', 0],
    ['ttl', '8d'],
    ['negativeTtl', '8d'],
    ['jitter', 1],
    ['lease', 10],
    ['schemaVersion', 1.5],
    ['operationTimeout', 0],
    ['onInvalidationError', 'ignore'],
    ['connection', ''],
    ['warnBytes', '1 MB'],
    ['warnBytes', 0],
    ['maxBytes', -1],
  ])('refuse cache.%s: %p', (option, value) => {
    expect(() => resolveCacheOptions({ [option]: value }, 'app')).toThrow(new RegExp(`cache\\.${option}`));
  });

  it('take sizes as bytes, and as texts with their unit', () => {
    const options = { warnBytes: '10kb', maxBytes: '1.5MB', l1: { maxBytes: '16MB' } } as const;
    expect(resolveCacheOptions(options, 'app')).toMatchObject({
      warnBytes: 10_240,
      maxBytes: 1_572_864,
      l1: { maxBytes: 16_777_216 },
    });
    expect(resolveCacheOptions({ maxBytes: 500, l1: true }, 'app')).toMatchObject({
      maxBytes: 500,
      l1: { maxBytes: 67_108_864 },
    });
  });

  it('are overridden one by one, and bounded by maxTtl', () => {
    const base = resolveCacheOptions({ ttl: '1m', maxTtl: '1h' }, 'app');
    expect(CachePolicy.forEntries({ wait: 7 }, base, 'x').options).toMatchObject({
      ttl: 60_000,
      wait: 7,
      lease: 4_000,
    });
    expect(() => CachePolicy.forEntries({ ttl: '2h' }, base, 'Products.find')).toThrow(
      /Products\.find[^]*maxTtl \(1h\)/,
    );
  });

  it('never give a time to live of 0 to what is stored, nor more than maxTtl', () => {
    const base = resolveCacheOptions({ ttl: 1, maxTtl: '1h', jitter: 0.9 }, 'app');
    const policy = CachePolicy.forEntries({}, base, 'x');
    const lifetimes = Array.from({ length: 100 }, () => policy.lifetimeOf('value').fresh);
    expect(new Set(lifetimes)).toEqual(new Set([1]));
    expect(policy.lifetimeOf('value', 86_400_000).fresh).toBeLessThanOrEqual(3_600_000);
  });
});
