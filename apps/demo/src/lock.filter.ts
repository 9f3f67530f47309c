import { Catch, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import type { Response } from 'express';
import { LockLostError, LockTimeoutError, LockUnavailableError } from 'nestjs-redis-patterns';

const LOCKED = 423;
const UNAVAILABLE = 503;
/** Longest time that a client is asked to wait, seconds. */
const LONGEST = 60;

/** Locks choose no HTTP status, as they know nothing of requests: here 423 is "busy", and 503 "nobody can say". */
@Catch(LockTimeoutError, LockUnavailableError, LockLostError)
export class LockFilter implements ExceptionFilter {
  catch(error: LockTimeoutError | LockUnavailableError | LockLostError, host: ArgumentsHost): void {
    // A consumer of messages retries what has thrown.
    if (host.getType() !== 'http') throw error;
    const busy = error instanceof LockTimeoutError;
    const status = busy ? LOCKED : UNAVAILABLE;
    const retryAfter = busy ? Math.min(LONGEST, Math.ceil(error.retryAfterMs / 1000)) : 1;
    const message = busy ? 'Somebody else is at it' : 'It cannot be said whether somebody else is at it';
    const response = host.switchToHttp().getResponse<Response>();
    response
      .status(status)
      .setHeader('Retry-After', retryAfter)
      .json({ statusCode: status, code: error.code, message });
  }
}
