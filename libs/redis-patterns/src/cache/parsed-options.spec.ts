import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { resolveCacheOptions } from './cache.schema.js';
import type { CacheLoadOptions } from './cache.options.js';
import { loadOptions } from './parsed-options.js';

const base = () => resolveCacheOptions({}, 'the spec');

const duration = fc.constantFrom(1000, 2000, '1s', '2s', '1m');
const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
const given = fc.record(
  {
    ttl: optional(duration),
    jitter: optional(fc.constantFrom(0, 0.1)),
    stale: optional(duration),
    timeouts: optional(fc.record({ soft: optional(duration), hard: optional(duration) }, { requiredKeys: [] })),
    wait: optional(duration),
    tags: optional(fc.constantFrom(['a'], ['b', 'c'])),
  },
  { requiredKeys: [] },
) as fc.Arbitrary<CacheLoadOptions<never>>;

describe('the options of calls', () => {
  it('mean the same whatever was given before', () => {
    const shared = base();
    fc.assert(
      fc.property(given, (raw) => {
        expect(loadOptions(raw, shared, 'the spec')).toEqual(loadOptions(raw, base(), 'the spec'));
      }),
      { numRuns: 500 },
    );
  });

  it('are parsed once, whatever belongs to the call alone', () => {
    const shared = base();
    const first = loadOptions({ ttl: '10m', timeouts: { soft: '1s' } }, shared, 'the spec');
    expect(loadOptions({ ttl: '10m', timeouts: { soft: '1s' }, tags: ['a'] }, shared, 'the spec')).toBe(first);
    // The same names and values, but not at the same place.
    expect(loadOptions({ timeouts: { soft: '1s' }, ttl: '10m' }, shared, 'the spec')).toEqual(first);
    expect(loadOptions({ ttl: 600_000, timeouts: { soft: '1s' } }, shared, 'the spec')).not.toBe(first);
  });

  it('are refused each time when they are wrong', () => {
    const shared = base();
    loadOptions({ ttl: '10m' }, shared, 'the spec');
    loadOptions({ timeouts: { soft: '1s' } }, shared, 'the spec');
    for (let time = 0; time < 2; time++) {
      expect(() => loadOptions({ ttl: '10m', tags: [''] }, shared, 'the spec')).toThrow(/tags/);
      expect(() => loadOptions({ ttl: 'ten' } as never, shared, 'the spec')).toThrow(/ttl/);
      expect(() => loadOptions({ timeouts: 'soft', '1s': {} } as never, shared, 'the spec')).toThrow(/timeouts/);
      expect(() => loadOptions({ ttl: '10m', tll: 1 } as never, shared, 'the spec')).toThrow(/tll/);
    }
  });

  it('are forgotten when there are too many', () => {
    const shared = base();
    const first = loadOptions({ ttl: 1 }, shared, 'the spec');
    for (let ttl = 2; ttl < 600; ttl++) loadOptions({ ttl }, shared, 'the spec');
    const again = loadOptions({ ttl: 1 }, shared, 'the spec');
    expect(again).not.toBe(first);
    expect(again).toEqual(first);
  });
});
