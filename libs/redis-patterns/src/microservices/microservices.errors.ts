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

/**
 * The client was closed while a request waited for its reply: the request may have been handled, or still be. Code
 * `ERR_MICROSERVICE_CLOSED`.
 */
export class ClientClosedError extends RedisPatternsError {
  constructor(readonly pattern: string) {
    super(
      'ERR_MICROSERVICE_CLOSED',
      `The client was closed before a reply to '${pattern}' came; close it when no request is under way any more`,
    );
  }
}
