import { z } from 'zod';
import { byteSizeSchema, ClassTypes, codecSchema, compressSchema, typesSchema, ValueCodec } from '../codec/index.js';
import { formatDuration, type Duration } from '../core/duration.js';
import { InvalidOptionsError } from '../core/errors.js';
import { durationSchema, parseOptions } from '../core/options.js';
import type { ResolvedCacheOptions, ResolvedEntryOptions } from './cache.options.js';

export const MAX_TAGS = 100;

const jitterRule = 'must be a number between 0 and 0.9';
const betaRule = 'must be a number above 0, at most 100';
const countRule = 'must be an integer >= 1';
const earlyRule = 'must be { beta } or false';
const tagRule = 'must be a non-empty text';
const versionRule = 'must be an integer >= 0';
const stampedeRule = "must be 'distributed', 'local' or 'none'";

const count = z.int(countRule).min(1, countRule);
const bytes = byteSizeSchema({ min: 1 });
const functionOf = <Fn>() => z.custom<Fn>((value) => typeof value === 'function', 'must be a function').optional();

/** The entry options as they may be given to a region, a call or the engine. */
export const entryOptionsShape = {
  ttl: durationSchema({ min: 1 }).optional(),
  stale: durationSchema().optional(),
  negativeTtl: durationSchema().optional(),
  jitter: z.number(jitterRule).min(0, jitterRule).max(0.9, jitterRule).optional(),
  earlyRefresh: z
    .union([
      z.strictObject({ beta: z.number(betaRule).gt(0, betaRule).max(100, betaRule).optional() }, earlyRule),
      z.literal(false, earlyRule),
    ])
    .optional(),
  stampede: z.enum(['distributed', 'local', 'none'], stampedeRule).optional(),
  timeouts: z
    .strictObject({ soft: durationSchema().optional(), hard: durationSchema({ min: 1 }).optional() })
    .optional(),
  failBackoff: durationSchema({ min: 1 }).optional(),
  lease: durationSchema({ min: 100 }).optional(),
  wait: durationSchema().optional(),
  maxHold: durationSchema({ min: 1 }).optional(),
};

const tags = z
  .array(z.string(tagRule).min(1, tagRule), 'must be an array of texts')
  .max(MAX_TAGS, `must be at most ${MAX_TAGS} tags`);

/** What else may be given to a region, a decorator or a call. */
export const valueOptionsShape = {
  ...entryOptionsShape,
  tags: tags.optional(),
  types: typesSchema.optional(),
  l1: z.boolean('must be true or false').optional(),
  cacheErrors: functionOf<(error: unknown) => Duration | undefined>(),
};

export const entrySchema = z.strictObject(valueOptionsShape);

export const loadSchema = entrySchema.extend({
  resultTags: z
    .custom<true>((value) => value === true || typeof value === 'function', 'must be true or a function')
    .optional(),
  when: functionOf<() => boolean>(),
  unless: functionOf<(value: never) => boolean>(),
  signal: z.custom<AbortSignal>((value) => value instanceof AbortSignal, 'must be an AbortSignal').optional(),
});

export const setSchema = entrySchema
  .pick({ ttl: true, stale: true, negativeTtl: true, jitter: true, tags: true, types: true })
  .extend({
    version: z
      .union([z.int(versionRule).min(0, versionRule), z.bigint(versionRule).min(0n, versionRule)], versionRule)
      .optional(),
  });

export const tagsSchema = tags;

export const keysOfSchema = z.strictObject({
  tag: z.string(tagRule).min(1, tagRule),
  limit: count.prefault(1_000),
});

export const deletePatternSchema = z.strictObject({
  dryRun: z.boolean('must be true or false').prefault(false),
  limit: count.optional(),
});

const l1Schema = z.strictObject({
  max: count.prefault(10_000),
  maxBytes: bytes.prefault('64MB'),
  ttl: durationSchema({ min: 1 }).prefault('15s'),
  coherence: z.enum(['tracking', 'ttl'], "must be 'tracking' or 'ttl'").prefault('tracking'),
  isolation: z.enum(['clone', 'freeze', 'none'], "must be 'clone', 'freeze' or 'none'").prefault('clone'),
});

const cacheSchema = z.strictObject({
  ...entryOptionsShape,
  connection: z.string('must be the name of a connection').min(1, 'must be the name of a connection').optional(),
  maxTtl: durationSchema({ min: 1 }).prefault('7d'),
  tagTtl: durationSchema({ min: 1 }).optional(),
  schemaVersion: z.int(versionRule).min(0, versionRule).prefault(0),
  operationTimeout: durationSchema({ min: 1 }).prefault('150ms'),
  onInvalidationError: z.enum(['defer', 'throw'], "must be 'defer' or 'throw'").prefault('defer'),
  l1: z
    .union([z.boolean(), l1Schema], 'must be true, false or { max, maxBytes, ttl, coherence, isolation }')
    .prefault(false),
  types: typesSchema.prefault([]),
  compress: compressSchema.optional(),
  codec: codecSchema.optional(),
  warnBytes: bytes.prefault('100kb'),
  maxBytes: bytes.prefault('1MB'),
  onOversize: z.enum(['skip', 'store', 'throw'], "must be 'skip', 'store' or 'throw'").prefault('skip'),
  tagIndex: z.boolean('must be true or false').prefault(false),
  recovery: z.strictObject({ max: count.optional() }).prefault({}),
});

const DEFAULTS: ResolvedEntryOptions = {
  ttl: 300_000,
  stale: 0,
  negativeTtl: undefined,
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
};

const DEFAULT_RECOVERY = 10_000;

/**
 * Parses the options of the cache and fills in the defaults.
 *
 * @throws InvalidOptionsError naming each option, for example `cache.ttl`
 */
export function resolveCacheOptions(raw: unknown, where: string): ResolvedCacheOptions {
  const given = parseOptions(cacheSchema, raw ?? {}, where, 'cache');
  const { maxTtl, tagTtl = 2 * maxTtl, recovery, ...options } = given;
  const entry = mergeEntryOptions(DEFAULTS, { ...given, l1: undefined }, maxTtl, where, 'cache.');
  if (tagTtl < maxTtl) {
    const message = `${formatDuration(tagTtl)} is shorter than cache.maxTtl (${formatDuration(maxTtl)}), so that entries would outlive their tags`;
    throw new InvalidOptionsError(where, [{ path: 'cache.tagTtl', message }]);
  }
  const { connection, schemaVersion, operationTimeout, onInvalidationError, warnBytes, maxBytes, onOversize } = options;
  const { tagIndex } = options;
  return Object.freeze({
    ...entry,
    connection,
    schemaVersion,
    operationTimeout,
    onInvalidationError,
    warnBytes,
    maxBytes,
    onOversize,
    tagIndex,
    maxTtl,
    tagTtl,
    values: new ValueCodec(new ClassTypes(options.types), options.codec),
    compression: options.compress,
    l1: typeof options.l1 === 'object' ? options.l1 : options.l1 ? l1Schema.parse({}) : undefined,
    maxRecovery: recovery.max ?? DEFAULT_RECOVERY,
  });
}

export type ParsedEntryOptions = z.output<typeof entrySchema>;

/** What is given over what it is based on. `prefix` stands before the names of options in errors. */
export function mergeEntryOptions(
  base: ResolvedEntryOptions,
  given: Partial<ParsedEntryOptions>,
  maxTtl: number,
  where: string,
  prefix = '',
): ResolvedEntryOptions {
  const { earlyRefresh, timeouts } = given;
  const ttl = given.ttl ?? base.ttl;
  const stale = given.stale ?? base.stale;
  const negativeTtl = given.negativeTtl ?? base.negativeTtl;
  checkTtl(ttl, maxTtl, where, `${prefix}ttl`);
  checkTtl(negativeTtl ?? 0, maxTtl, where, `${prefix}negativeTtl`);
  checkTtl(ttl + stale, maxTtl, where, `${prefix}stale`, 'ttl and stale together, ');
  return {
    ttl,
    stale,
    negativeTtl,
    jitter: given.jitter ?? base.jitter,
    beta: earlyRefresh === undefined ? base.beta : earlyRefresh === false ? 0 : (earlyRefresh.beta ?? 1),
    stampede: given.stampede ?? base.stampede,
    softTimeout: timeouts?.soft ?? base.softTimeout,
    hardTimeout: timeouts?.hard ?? base.hardTimeout,
    failBackoff: given.failBackoff ?? base.failBackoff,
    lease: given.lease ?? base.lease,
    wait: given.wait ?? base.wait,
    maxHold: given.maxHold ?? base.maxHold,
    useL1: given.l1 ?? base.useL1,
  };
}

function checkTtl(ttl: number, maxTtl: number, where: string, path: string, what = ''): void {
  if (ttl <= maxTtl) return;
  const message = `${what}${formatDuration(ttl)} is longer than cache.maxTtl (${formatDuration(maxTtl)}); shorten it, or raise that`;
  throw new InvalidOptionsError(where, [{ path, message }]);
}
