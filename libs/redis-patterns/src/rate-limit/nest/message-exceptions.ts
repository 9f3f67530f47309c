import type { RateLimitExceededError, RateLimitUnavailableError } from '../rate-limit.errors.js';

type LimitError = RateLimitExceededError | RateLimitUnavailableError;

/** What the client of a gateway or microservice gets when a limit refuses its message. */
export interface RateLimitMessage {
  readonly status: 'error';
  readonly message: string;
  /** `ERR_RATE_LIMIT_EXCEEDED` or `ERR_RATE_LIMIT_UNAVAILABLE`. */
  readonly code: string;
  /** Whole seconds; absent when waiting does not help. */
  readonly retryAfter?: number;
}

export function toMessage({ message, code, retryAfter }: LimitError): RateLimitMessage {
  return { status: 'error', message, code, ...(retryAfter === undefined ? {} : { retryAfter }) };
}

/**
 * The `WsException` or `RpcException` that Nest answers a message with; `cause` is the error. Their packages are optional, hence
 * imported only when a message has come: then the application has loaded them. (One that this package cannot find is a mistake of
 * the installation; then the client gets Nest's answer to any error.)
 */
export async function messageException(error: LimitError, type: string): Promise<Error> {
  try {
    const exception = type === 'ws' ? await wsException(error) : await rpcException(error);
    return Object.assign(exception, { cause: error });
  } catch {
    return error;
  }
}

async function wsException(error: LimitError): Promise<Error> {
  const { WsException } = await import('@nestjs/websockets');
  return new WsException(toMessage(error));
}

async function rpcException(error: LimitError): Promise<Error> {
  const { RpcException } = await import('@nestjs/microservices');
  return new RpcException(toMessage(error));
}
