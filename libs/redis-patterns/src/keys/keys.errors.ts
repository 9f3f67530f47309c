import { RedisPatternsError } from '../core/errors.js';

/**
 * A key, or one of its parts, that cannot stand for exactly one thing in Redis: empty, without a stable text, or with
 * braces that are no hash tag. Code `ERR_INVALID_KEY`. The text of the key is never part of the message, since keys
 * may hold session ids or e-mail addresses.
 *
 * @example
 * ```ts
 * await cache.get(''); // InvalidKeyError: the key is empty; …
 * ```
 */
export class InvalidKeyError extends RedisPatternsError {
  constructor(message: string) {
    super('ERR_INVALID_KEY', message);
  }
}
