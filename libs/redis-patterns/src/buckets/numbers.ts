import { InvalidOptionsError, RedisPatternsError } from '../core/index.js';

/**
 * A count or score would leave what a number keeps exactly, ±(2^53 − 1), or what stands in Redis has. Nothing was changed. Code
 * `ERR_NUMBER_RANGE`.
 */
export class NumberRangeError extends RedisPatternsError {
  constructor(what: string) {
    super('ERR_NUMBER_RANGE', `${what} is beyond ±(2^53 - 1), where numbers are not exact; nothing was changed`);
  }
}

/** @throws InvalidOptionsError for NaN, infinities and what is beyond ±(2^53 − 1) */
export function checkScore(score: unknown, where: string, path: string): number {
  if (typeof score === 'number' && Math.abs(score) <= Number.MAX_SAFE_INTEGER) return score;
  throw new InvalidOptionsError(where, [{ path, message: 'must be a number within ±(2^53 - 1)' }]);
}

/** @throws InvalidOptionsError for anything but an integer within the bounds */
export function checkInteger(value: unknown, where: string, path: string, min: number, max: number): number {
  if (Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max) return value as number;
  throw new InvalidOptionsError(where, [{ path, message: `must be an integer from ${min} to ${max}` }]);
}

/**
 * A number that came as text, because a Lua number is cut to an integer and integers near 2^53 lose their last digit on the way.
 *
 * @throws NumberRangeError
 */
export function exactNumber(text: string, what: string): number {
  const value = Number(text);
  if (Math.abs(value) <= Number.MAX_SAFE_INTEGER) return value;
  throw new NumberRangeError(what);
}

/**
 * Texts that stand for things: members, ids, items. Half of a surrogate pair has no UTF-8, so that two such texts would be one.
 *
 * @throws InvalidOptionsError naming the first that is no text, or empty
 */
export function checkNames(names: readonly unknown[], where: string, path: string, most: number): void {
  const wrong = (at: string, message: string): never => {
    throw new InvalidOptionsError(where, [{ path: at, message }]);
  };
  if (!Array.isArray(names)) wrong(path, 'must be a list of texts');
  if (names.length > most) wrong(path, `must be at most ${most} in one call; give them in parts`);
  names.forEach((name, index) => {
    const at = names.length === 1 ? path : `${path}[${index}]`;
    if (typeof name !== 'string' || name === '') wrong(at, 'must be a text that is not empty');
    else if (/\p{Cs}/u.test(name)) wrong(at, 'holds half of a surrogate pair, which Redis cannot keep');
  });
}
