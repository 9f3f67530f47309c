import { canonicalText } from './canonical.js';
import { digest } from './digest.js';

/**
 * Type-aware hash of the arguments of a call, the default key of a cached method: 22 base64url characters. `42`, `'42'`
 * and `42n` differ; the order of object keys does not matter. See {@link canonicalText} for what equal means.
 *
 * @throws InvalidKeyError naming the argument (counted from 0) and the place in it, when one has no stable text
 *
 * @example
 * ```ts
 * hashArguments([42, { page: 1, size: 10 }]) === hashArguments([42, { size: 10, page: 1 }]); // true
 * ```
 */
export function hashArguments(args: readonly unknown[]): string {
  return digest(args.map((arg, index) => canonicalText(arg, `argument ${index}`)).join());
}
