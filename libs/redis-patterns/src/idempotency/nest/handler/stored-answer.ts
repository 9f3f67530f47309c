import { HttpException, StreamableFile } from '@nestjs/common';
import { CodecError, decodeValue, encodeValue } from '../../../codec/index.js';
import { RedisPatternsError } from '../../../core/errors.js';
import type { HeaderValue, HttpExchange } from '../../../nest/http/exchange.js';
import type { ResolvedHandlerOptions } from './handler.options.js';

/** An answer as it is stored. Names are short, as they are in each record. */
interface StoredAnswer {
  /** Status. */
  readonly s: number;
  /** What the handler returned, after all interceptors; absent for `undefined`. Or, with `e`, the body of an exception. */
  readonly b?: unknown;
  /** Headers that were set while it ran. */
  readonly h?: Record<string, HeaderValue>;
  /** It is an exception. */
  readonly e?: true;
}

/** Made anew for each response, or for one client alone. */
const NOT_KEPT = new Set(['connection', 'content-length', 'date', 'keep-alive', 'set-cookie', 'transfer-encoding']);
/** They say that the same request may succeed later. */
const TRY_AGAIN = new Set([408, 425, 429]);

type Store = ResolvedHandlerOptions['store'];

/**
 * The text of what a handler answered; `undefined` for what is not to be kept.
 *
 * @param before the headers before it ran
 * @throws for what cannot be kept
 */
export function textOfAnswer(
  body: unknown,
  before: Record<string, unknown>,
  exchange: HttpExchange,
  store: Store,
): string | undefined {
  const { status } = exchange;
  if (!isStored(status, store)) return undefined;
  if (exchange.isAnswered) throw new CodecError('the handler has written the response itself');
  if (isStream(body)) throw new CodecError('the answer is a stream');
  return encode({ s: status, b: body, h: newHeaders(before, exchange) });
}

/** The same for what it threw. */
export function textOfError(
  error: unknown,
  before: Record<string, unknown>,
  exchange: HttpExchange,
  store: Store,
): string | undefined {
  // Errors of this library are about Redis or about this moment; they pass.
  if (error instanceof RedisPatternsError) return undefined;
  const answer = answerOf(error);
  if (!isStored(answer.s, store)) return undefined;
  return encode({ ...answer, h: newHeaders(before, exchange), e: true });
}

/**
 * Answers with what is stored.
 *
 * @returns the body, for Nest to send
 * @throws HttpException when it was an exception, for the filters of the application
 */
export function replayAnswer(text: string, exchange: HttpExchange): unknown {
  const { s, b, h, e } = decodeValue(text) as StoredAnswer;
  for (const [name, value] of Object.entries(h ?? {})) exchange.setHeader(name, value);
  exchange.setHeader('Idempotent-Replayed', 'true');
  if (e === true) throw new HttpException(b as string | Record<string, unknown>, s);
  exchange.status = s;
  return b;
}

function isStored(status: number, store: Store): boolean {
  if (status < 400 || store === 'all') return true;
  return store === '4xx' && status < 500 && !TRY_AGAIN.has(status);
}

/** What Nest's own filter answers. */
function answerOf(error: unknown): { s: number; b: unknown } {
  if (error instanceof HttpException) {
    const response = error.getResponse();
    if (typeof response === 'object') return { s: error.getStatus(), b: response };
    const { errorCode } = error as { errorCode?: string };
    const code = errorCode === undefined ? {} : { errorCode };
    return { s: error.getStatus(), b: { statusCode: error.getStatus(), message: response, ...code } };
  }
  const { expose, statusCode, message } = (error ?? {}) as {
    expose?: unknown;
    statusCode?: unknown;
    message?: unknown;
  };
  if (typeof expose === 'boolean' && typeof statusCode === 'number') {
    return { s: statusCode, b: { statusCode, message: String(message) } };
  }
  return { s: 500, b: { statusCode: 500, message: 'Internal server error' } };
}

function newHeaders(before: Record<string, unknown>, exchange: HttpExchange): Record<string, HeaderValue> | undefined {
  const found = Object.entries(exchange.headers()).filter(
    ([name, value]) => value !== undefined && !NOT_KEPT.has(name) && String(value) !== String(before[name]),
  );
  return found.length === 0 ? undefined : (Object.fromEntries(found) as Record<string, HeaderValue>);
}

/** Instances of classes become what their JSON says: that is what the client gets of them. */
function encode({ s, b, h, e }: { s: number; b: unknown; h: StoredAnswer['h']; e?: true }): string {
  const stored = (body: unknown): StoredAnswer => ({
    s,
    ...(body !== undefined && { b: body }),
    ...(h !== undefined && { h }),
    ...(e !== undefined && { e }),
  });
  try {
    return encodeValue(stored(b));
  } catch (error) {
    if (!(error instanceof CodecError)) throw error;
    return encodeValue(stored(JSON.parse(JSON.stringify(b))));
  }
}

function isStream(body: unknown): boolean {
  if (typeof body !== 'object' || body === null) return false;
  if (body instanceof StreamableFile || body instanceof Response) return true;
  const like = body as Record<string | symbol, unknown>;
  return ['pipe', 'getReader', Symbol.asyncIterator].some((method) => typeof like[method] === 'function');
}
