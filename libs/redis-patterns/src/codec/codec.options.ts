import { z } from 'zod';
import { parseOptions } from '../core/options.js';
import { byteSizeSchema, type ByteSize } from './byte-size.js';
import { duplicateIn, problemOf, type Class, type ClassTypes } from './class-types.js';
import type { Codec } from './codec.js';
import { DEFAULT_MAX_OUTPUT, isAvailable, type CompressionAlgorithm, type CompressionSettings } from './compression.js';

/** How long values are compressed. */
export interface CompressOptions {
  /** Encoded values of this size and above are compressed, if that makes them shorter. Default `'2kb'`. */
  over?: ByteSize;
  /**
   * `'gzip'`, the default, `'brotli'` (shorter) or `'zstd'` (Node.js 22.15 and newer). Values are read whichever wrote them,
   * so that it may be changed at any time.
   */
  algorithm?: CompressionAlgorithm;
  /**
   * Longest text that is compressed or decompressed, so that no entry, whoever wrote it, can fill the memory. A longer value
   * is stored as it is. Default `'16mb'`.
   */
  maxOutput?: ByteSize;
}

/** The schema of the option `compress`: `undefined` when it is off. */
export const compressSchema: z.ZodType<CompressionSettings | undefined, false | CompressOptions> = z
  .union([
    z.literal(false, 'must be false'),
    z.strictObject({
      over: byteSizeSchema().prefault('2kb'),
      algorithm: z
        .enum(['gzip', 'brotli', 'zstd'])
        .refine(isAvailable, "needs Node.js 22.15 or newer; use 'gzip' or 'brotli'")
        .prefault('gzip'),
      maxOutput: byteSizeSchema({ min: 1 }).prefault(DEFAULT_MAX_OUTPUT),
    }),
  ])
  .transform((options) => (options === false ? undefined : options));

/** The schema of the option `types`: classes for {@link ClassTypes}. */
export const typesSchema: z.ZodType<readonly Class[], readonly Class[]> = z
  .array(
    z.custom<Class>().superRefine((type, context) => {
      const message = problemOf(type);
      if (message !== undefined) context.addIssue({ code: 'custom', message });
    }),
    'must be a list of classes',
  )
  .superRefine((types, context) => {
    const index = duplicateIn(types);
    if (index === undefined) return;
    const message = `has the name '${types[index]!.name}' like an earlier one; rename one, or list it once`;
    context.addIssue({ code: 'custom', path: [index], message });
  });

/**
 * Adds the classes of an option `types`; those that are known already cost a look-up each.
 *
 * @throws InvalidOptionsError when one is no class, cannot be stored, or has the name of another
 */
export function addTypes(types: ClassTypes, given: readonly Class[], where: string): void {
  if (Array.isArray(given) && given.every((type) => types.has(type))) return;
  types.add(parseOptions(typesSchema, given, where, 'types'), where);
}

const codecRule = 'must be an object with id, encode(value) and decode(text)';

/** The schema of the option `codec`. */
export const codecSchema = z.custom<Codec>().superRefine((codec, context) => {
  const message = problemOfCodec(codec);
  if (message !== undefined) context.addIssue({ code: 'custom', message });
});

function problemOfCodec(codec: unknown): string | undefined {
  if (typeof codec !== 'object' || codec === null) return codecRule;
  const { id, encode, decode } = codec as Partial<Record<keyof Codec, unknown>>;
  if (typeof encode !== 'function' || typeof decode !== 'function' || typeof id !== 'string') return codecRule;
  if (id === 'json' || id === 'json+') return `its id '${id}' is that of a built-in codec; give it another`;
  // The id stands in the header of entries.
  return /^[\w.+-]{1,32}$/.test(id) ? undefined : 'its id must be 1 to 32 letters, digits, or one of . + - _';
}
