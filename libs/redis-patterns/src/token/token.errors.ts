import type { FailureOutcome, RedisUnavailableError } from '../connection/index.js';
import { StatusError } from '../core/index.js';

/**
 * Redis could not say, or did not confirm: the token may be valid or not, or may have been used up. Code `ERR_TOKEN_UNAVAILABLE`, HTTP
 * 503. `outcome` tells whether a change may have been made; `cause` is the error of the connection.
 */
export class TokenUnavailableError extends StatusError<503> {
  readonly outcome: FailureOutcome;

  constructor(cause: RedisUnavailableError) {
    super('ERR_TOKEN_UNAVAILABLE', 503, 'Tokens cannot be checked now; try again', { cause });
    this.outcome = cause.outcome;
  }
}
