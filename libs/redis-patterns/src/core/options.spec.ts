import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { InvalidOptionsError, RedisPatternsError } from './errors.js';
import { closest, durationSchema, parseOptions } from './options.js';

function issuesOf(schema: z.ZodType, raw: unknown, prefix = ''): string[] {
  try {
    parseOptions(schema, raw, 'RedisPatternsModule.forRoot', prefix);
  } catch (error) {
    if (error instanceof InvalidOptionsError) return error.issues.map(({ path, message }) => `${path}: ${message}`);
    throw error;
  }
  return [];
}

const pool = z.strictObject({
  maxBlocking: z.int().min(1).default(16),
  acquireTimeout: durationSchema().prefault('2s'),
});
const common = z.strictObject({
  pool: pool.prefault({}),
  commandTimeout: durationSchema({ min: 10, max: 60_000 }).optional(),
});
const connection = z.discriminatedUnion('mode', [
  common.extend({ mode: z.literal('standalone').optional(), host: z.string().default('127.0.0.1') }),
  common.extend({ mode: z.literal('cluster'), nodes: z.array(z.strictObject({ host: z.string(), port: z.int() })) }),
]);

describe('parseOptions', () => {
  it('fills in defaults, turns durations into milliseconds and freezes the result deeply', () => {
    const options = parseOptions(common, { commandTimeout: '1s' }, 'X');
    expect(options).toEqual({ pool: { maxBlocking: 16, acquireTimeout: 2_000 }, commandTimeout: 1_000 });
    expect(Object.isFrozen(options) && Object.isFrozen(options.pool)).toBe(true);
  });

  it('does not freeze what the caller still owns', () => {
    class Logger {
      lines = [];
    }
    const raw = { tls: { ca: ['x'], nested: {} }, logger: new Logger(), list: [{ host: 'a', port: 1 }] };
    const schema = z.strictObject({
      tls: z.custom<object>(),
      logger: z.any(),
      list: z.array(z.strictObject({ host: z.string(), port: z.int() })),
    });
    const options = parseOptions(schema, raw, 'X');
    expect(options.tls).toBe(raw.tls);
    for (const mine of [
      raw,
      raw.tls,
      raw.tls.ca,
      raw.tls.nested,
      raw.logger,
      raw.logger.lines,
      raw.list,
      raw.list[0],
    ]) {
      expect(Object.isFrozen(mine)).toBe(false);
    }
    expect(Object.isFrozen(options.list) && Object.isFrozen(options.list[0])).toBe(true);
  });

  it('copes with options that contain themselves', () => {
    const raw: { loop: unknown } = { loop: undefined };
    raw.loop = { raw };
    expect(parseOptions(z.strictObject({ loop: z.any() }), raw, 'X').loop).toBe(raw.loop);
  });

  it('reports every issue at once, below one line that says where', () => {
    const call = (): unknown =>
      parseOptions(common, { pool: { maxBlocking: 0, size: 1 }, commandTimeout: '1x' }, 'forRoot', 'connection');
    expect(call).toThrow(
      `Invalid options for forRoot:
  - connection.pool.maxBlocking: must be at least 1
  - connection.pool.size: unknown option; known are maxBlocking, acquireTimeout
  - connection.commandTimeout: '1x' is not a duration; give milliseconds as a number >= 0, or a text such as '250ms', '30s', '5m', '1h', '7d'`,
    );
    expect(call).toThrow(RedisPatternsError);
    expect(call).toThrow(
      expect.objectContaining({ code: 'ERR_INVALID_OPTIONS', where: 'forRoot' }) as unknown as Error,
    );
  });

  it.each<[string, z.ZodType, unknown, string]>([
    [
      'a nested object',
      z.strictObject({ connection }),
      { connection: { pool: { maxBloking: 1 } } },
      "connection.pool.maxBloking: unknown option; did you mean 'maxBlocking'?",
    ],
    [
      'a discriminated union',
      z.strictObject({ connection }),
      { connection: { mode: 'cluster', noeds: [], nodes: [] } },
      "connection.noeds: unknown option; did you mean 'nodes'?",
    ],
    [
      'an item of an array',
      connection,
      { mode: 'cluster', nodes: [{ host: 'a', prot: 1, port: 1 }] },
      "nodes[0].prot: unknown option; did you mean 'port'?",
    ],
    [
      'a record',
      z.record(z.string(), connection),
      { cache: { hots: 'x' } },
      "cache.hots: unknown option; did you mean 'host'?",
    ],
    [
      'a record name that is no word',
      z.record(z.string(), pool),
      { 'a b.c': { maxBlock: 1 } },
      '["a b.c"].maxBlock: unknown option; known are maxBlocking, acquireTimeout',
    ],
    [
      'a union of an object and a literal',
      z.strictObject({ breaker: z.union([z.literal(false), pool]).prefault({}) }),
      { breaker: { maxBlokcing: 5 } },
      "breaker.maxBlokcing: unknown option; did you mean 'maxBlocking'?",
    ],
    [
      'a union inside a union',
      z.union([z.string(), z.strictObject({ deep: z.union([z.boolean(), pool]) })]),
      { deep: { maxBlockng: 5 } },
      "deep.maxBlockng: unknown option; did you mean 'maxBlocking'?",
    ],
    [
      'an array inside a union',
      z.strictObject({ nodes: z.union([z.string(), z.array(pool)]) }),
      { nodes: [{ maxBlocking: 1 }, { macBlocking: 1 }] },
      "nodes[1].macBlocking: unknown option; did you mean 'maxBlocking'?",
    ],
    [
      'an intersection',
      z.intersection(pool, z.strictObject({ lease: z.int() })),
      { lease: 1, leas: 1 },
      "leas: unknown option; did you mean 'lease'?",
    ],
    [
      'an optional object with a transform',
      z.strictObject({ pool: pool.transform((value) => value).optional() }),
      { pool: { maxblockin: 1 } },
      "pool.maxblockin: unknown option; did you mean 'maxBlocking'?",
    ],
    [
      'a preprocessed object',
      z.preprocess((value) => value, pool),
      { maxblockin: 1 },
      "maxblockin: unknown option; did you mean 'maxBlocking'?",
    ],
    ['a lazy object', z.lazy(() => pool), { maxblockin: 1 }, "maxblockin: unknown option; did you mean 'maxBlocking'?"],
    [
      'a tuple',
      z.tuple([z.string(), pool]),
      ['x', { maxblockin: 1 }],
      "[1].maxblockin: unknown option; did you mean 'maxBlocking'?",
    ],
    [
      'a name of Object.prototype',
      pool,
      { constructor: 1 },
      'constructor: unknown option; known are maxBlocking, acquireTimeout',
    ],
  ])('names the option that was meant in %s', (_, schema, raw, expected) => {
    expect(issuesOf(schema, raw)).toEqual([expected]);
  });

  it.each<[string, z.ZodType, unknown, string]>([
    ['a missing option', z.strictObject({ namespace: z.string() }), {}, 'cache.namespace: is required; give a string'],
    [
      'a missing duration',
      z.strictObject({ ttl: durationSchema() }),
      {},
      "cache.ttl: is required; give milliseconds as a number >= 0, or a text such as '250ms', '30s', '5m', '1h', '7d'",
    ],
    ['no options at all', pool, undefined, 'cache: is required; give an object'],
    ['a wrong type', z.strictObject({ max: z.number() }), { max: 'many' }, 'cache.max: must be a number, not a string'],
    [
      'a fraction',
      z.strictObject({ max: z.int() }),
      { max: 1.5 },
      'cache.max: must be a whole number, not a fraction or infinite number',
    ],
    ['too big a number', z.strictObject({ max: z.int().max(10) }), { max: 11 }, 'cache.max: must be at most 10'],
    ['no number', z.strictObject({ max: z.number().positive() }), { max: NaN }, 'cache.max: must be a number, not NaN'],
    [
      'a wrong choice',
      z.strictObject({ mode: z.enum(['a', 'b']) }),
      { mode: 'c' },
      "cache.mode: must be one of 'a', 'b'",
    ],
    [
      'an unknown kind of connection',
      connection,
      { mode: 'clustr' },
      "cache.mode: must be one of 'standalone', 'cluster'",
    ],
    ['a value like no branch of a union', z.union([z.boolean(), pool]), 5, 'cache: must be a boolean, or an object'],
    [
      'a missing union',
      z.strictObject({ a: z.union([z.boolean(), z.string()]) }),
      {},
      'cache.a: is required; give a boolean, or a string',
    ],
    [
      'too short a duration',
      z.strictObject({ ttl: durationSchema({ min: 1_000 }) }),
      { ttl: 5 },
      'cache.ttl: must be at least 1s, not 5ms',
    ],
    [
      'too long a duration',
      z.strictObject({ ttl: durationSchema({ max: 60_000 }) }),
      { ttl: '1h' },
      'cache.ttl: must be at most 1m, not 1h',
    ],
    [
      'a name that is not accepted',
      z.record(z.string().regex(/^\w+$/, 'use letters and digits'), z.int()),
      { 'a b': 1 },
      'cache["a b"]: this name is not accepted: use letters and digits',
    ],
    [
      'a value that a custom check refuses',
      z.custom((value) => value === 1),
      2,
      'cache: is not of a kind that is accepted here',
    ],
    [
      'a message of the union itself',
      z.strictObject({ key: z.union([z.string(), z.custom(() => false)], 'must be a text or a function') }),
      { key: 5 },
      'cache.key: must be a text or a function',
    ],
    [
      'a message of the schema itself',
      z.strictObject({ port: z.int('must be a port') }),
      { port: 'x' },
      'cache.port: must be a port',
    ],
  ])('says what to do about %s', (_, schema, raw, expected) => {
    expect(issuesOf(schema, raw, 'cache')).toEqual([expected]);
  });

  it('never quotes a value that may be secret', () => {
    const secret = 'hunter2';
    const schema = z.strictObject({
      a: z.number(),
      b: z.enum(['x', 'y']),
      c: z.literal('z'),
      d: z.union([z.boolean(), z.strictObject({ password: z.int() })]),
      e: z.array(z.int()),
      f: z.string().max(3),
      g: z.string().regex(/^\d+$/),
      h: z.url(),
      i: z.custom(() => false),
      j: z.string().startsWith('redis://'),
    });
    const raw = {
      a: secret,
      b: secret,
      c: secret,
      d: { password: secret },
      e: [secret],
      f: secret,
      g: secret,
      h: secret,
      i: secret,
      j: secret,
    };
    const issues = issuesOf(schema, raw);
    expect(issues).toHaveLength(10);
    expect(issues.join()).not.toContain(secret);
  });
});

describe('closest', () => {
  it.each<[string, string | undefined]>([
    ['tiemout', 'timeout'],
    ['TIMEOUT', 'timeout'],
    ['tll', 'ttl'],
    ['jiter', 'jitter'],
    ['retries', undefined],
    ['x', undefined],
    ['', undefined],
  ])('takes %j for %j', (word, expected) => {
    expect(closest(word, ['timeout', 'ttl', 'jitter', 'xy'])).toBe(expected);
  });
});
