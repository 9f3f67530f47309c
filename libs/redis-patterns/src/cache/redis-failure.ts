import { RedisCommandError, RedisUnavailableError } from '../connection/index.js';

/** Whether Redis is at fault, so that a read goes on without it. */
export function isRedisFailure(error: unknown): error is RedisUnavailableError | RedisCommandError {
  return error instanceof RedisUnavailableError || error instanceof RedisCommandError;
}

export function mayHaveRun(error: RedisUnavailableError | RedisCommandError): boolean {
  return error.outcome === 'unknown';
}
