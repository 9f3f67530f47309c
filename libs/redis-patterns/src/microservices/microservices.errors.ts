import { RedisPatternsError } from '../core/errors.js';

/**
 * No reply came in time: the request, or its reply, may still be under way, or nobody handles the pattern. Code
 * `ERR_MICROSERVICE_TIMEOUT`.
 */
export class RequestTimeoutError extends RedisPatternsError {
  constructor(
    readonly pattern: string,
    timeout: number,
  ) {
    super(
      'ERR_MICROSERVICE_TIMEOUT',
      `No reply to '${pattern}' within ${timeout} ms; look whether a service with a handler of it runs on the same namespace ` +
        `and stream, or raise 'requestTimeout'`,
    );
  }
}
