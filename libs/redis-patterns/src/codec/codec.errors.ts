import { RedisPatternsError } from '../core/errors.js';

/**
 * A value that cannot be stored so that it comes back equal, or stored text that is no value. Code `ERR_CODEC`. The
 * message names the place in the value, never what stands there.
 *
 * @example
 * ```ts
 * encodeValue({ items: [new Order()] }); // CodecError: cannot encode value.items[0]: it is an instance of Order; …
 * ```
 */
export class CodecError extends RedisPatternsError {
  constructor(
    message: string,
    /** Place in the value, for example `value.items[0].owner`; `undefined` when the text as a whole is at fault. */
    readonly path?: string,
    options?: { cause?: unknown },
  ) {
    super('ERR_CODEC', message, options);
  }
}
