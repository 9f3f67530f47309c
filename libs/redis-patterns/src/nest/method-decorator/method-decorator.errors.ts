import { RedisPatternsError } from '../../core/errors.js';

/**
 * A method that cannot carry the decorator: a static or synchronous method, a property, an accessor, an Observable whose
 * return type is not declared, or two methods of one name where the name identifies what is stored.
 *
 * Thrown while the class is defined, at boot or by the call, as early as it can be known; never a reason to run the
 * method without its pattern.
 */
export class DecoratedMethodError extends RedisPatternsError {
  constructor(message: string) {
    super('ERR_DECORATED_METHOD', message);
  }
}
