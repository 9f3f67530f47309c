import { z } from 'zod';
import { deepFreeze, objectsIn } from './deep-freeze.js';
import { durationMessage, formatDuration, parseDuration, type Duration } from './duration.js';
import { InvalidOptionsError } from './errors.js';
import { describeIssue, toOptionIssues, unknownOption } from './option-issues.js';

export { closest } from './closest.js';
export { deepFreeze } from './deep-freeze.js';

/**
 * Schema of a duration option; the parsed value is milliseconds.
 *
 * @param bounds lowest and highest value, in milliseconds, both inclusive
 *
 * @example
 * ```ts
 * const schema = z.strictObject({ lease: durationSchema({ min: 100 }).prefault('30s') });
 * ```
 */
export function durationSchema(bounds: { min?: number; max?: number } = {}): z.ZodType<number, Duration> {
  const { min = 0, max = Infinity } = bounds;
  return z.custom<Duration>().transform((value, context) => {
    const ms = parseDuration(value);
    if (ms !== undefined && ms >= min && ms <= max) return ms;
    context.addIssue({
      code: 'custom',
      message: ms === undefined ? durationMessage(value) : boundsMessage(ms, min, max),
    });
    return z.NEVER;
  });
}

function boundsMessage(ms: number, min: number, max: number): string {
  return ms < min
    ? `must be at least ${formatDuration(min)}, not ${formatDuration(ms)}`
    : `must be at most ${formatDuration(max)}, not ${formatDuration(ms)}`;
}

/**
 * Parses raw options once: fills in defaults, refuses what is unknown, and freezes the result. Objects that the schema
 * passes through by reference (`z.custom`, `z.any`: TLS options, loggers) belong to the caller and are not frozen.
 *
 * @param where the class, method or decorator that the options were given to; begins the error message
 * @param prefix option path of `raw` inside of them (`''`, `'cache'`)
 * @throws InvalidOptionsError with every issue, each naming the whole option path and the remedy; of all values only
 * durations are quoted, since others may be secret
 *
 * @example
 * ```ts
 * const options = parseOptions(z.strictObject({ ttl: durationSchema().prefault('5m') }), {}, 'CacheService', 'cache');
 * options.ttl; // 300000
 * ```
 */
export function parseOptions<Output>(schema: z.ZodType<Output>, raw: unknown, where: string, prefix = ''): Output {
  const result = schema.safeParse(raw, { error: describeIssue });
  if (result.success) return deepFreeze(result.data, objectsIn(raw));
  throw new InvalidOptionsError(where, toOptionIssues(result.error.issues, { schema, raw, prefix }));
}

/**
 * Refuses what is no option of a call, as {@link parseOptions} does: for calls that check the values by themselves, as they are too
 * frequent for a schema. An option that is misspelt would else be one that was left out.
 *
 * @param where the method that the options were given to
 * @throws InvalidOptionsError naming the first one
 *
 * @example
 * ```ts
 * checkOptionNames(options, ['at', 'opId'], 'Counter.incr()');
 * ```
 */
export function checkOptionNames(given: unknown, known: readonly string[], where: string): void {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw new InvalidOptionsError(where, [
      { path: '', message: `the options must be an object ({ ${known.join(', ')} })` },
    ]);
  }
  for (const name in given) {
    if (!known.includes(name))
      throw new InvalidOptionsError(where, [{ path: name, message: unknownOption(name, known) }]);
  }
}
