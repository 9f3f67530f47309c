import { RedisPatternsError, type ErrorCode } from './errors.js';

/** An error that HTTP has an answer for. `status`, `statusCode` and `expose` are how Nest, Express, Fastify and others know such a one. */
export abstract class StatusError<Status extends number = number> extends RedisPatternsError {
  readonly statusCode: Status;
  readonly expose = true;

  constructor(
    code: ErrorCode,
    readonly status: Status,
    message: string,
    options?: { cause?: unknown },
  ) {
    super(code, message, options);
    this.statusCode = status;
  }
}
