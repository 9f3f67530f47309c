import { z } from 'zod';

const UNITS = { b: 1, kb: 1024, mb: 1024 ** 2, gb: 1024 ** 3 } as const;
type Unit = keyof typeof UNITS;

/**
 * A number of bytes; a text carries its unit, in small or capital letters. `kb` is 1024 bytes.
 *
 * @example
 * ```ts
 * const sizes: ByteSize[] = [2048, '512b', '2kb', '1.5MB', '1gb'];
 * ```
 */
export type ByteSize = number | `${number}${Unit | Uppercase<Unit>}`;

const PATTERN = /^(\d+(?:\.\d+)?)(b|kb|mb|gb)$/i;

/**
 * Bytes of a size, rounded up, or `undefined` when it is none (negative, infinite, without a unit, too large to count).
 *
 * @example
 * ```ts
 * parseByteSize('2kb'); // 2048
 * parseByteSize('2 kilo'); // undefined
 * ```
 */
export function parseByteSize(value: unknown): number | undefined {
  const match = typeof value === 'string' ? PATTERN.exec(value) : null;
  const bytes = match === null ? value : Number(match[1]) * UNITS[match[2]!.toLowerCase() as Unit];
  if (typeof bytes !== 'number' || !(bytes >= 0)) return undefined;
  const whole = Math.ceil(bytes);
  return Number.isSafeInteger(whole) ? whole : undefined;
}

/**
 * Schema of a size option; the parsed value is bytes.
 *
 * @param bounds lowest and highest value, in bytes, both inclusive
 */
export function byteSizeSchema({ min = 0, max = Infinity } = {}): z.ZodType<number, ByteSize> {
  return z.custom<ByteSize>().transform((value, context) => {
    const bytes = parseByteSize(value);
    if (bytes !== undefined && bytes >= min && bytes <= max) return bytes;
    context.addIssue({ code: 'custom', message: sizeMessage(bytes, min, max) });
    return z.NEVER;
  });
}

function sizeMessage(bytes: number | undefined, min: number, max: number): string {
  if (bytes === undefined) return "is not a size; give bytes as a number >= 0, or a text such as '512b', '2kb', '1mb'";
  return bytes < min ? `must be at least ${min} bytes, not ${bytes}` : `must be at most ${max} bytes, not ${bytes}`;
}
