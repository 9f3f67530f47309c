import { CodecError, type ValueCodec } from '../../../codec/index.js';
import { digestOf } from './etag.js';
import type { HeaderValue, HttpExchange } from '../../../nest/http/exchange.js';

/** A response as it is stored. Names are short, as they are in each entry. */
export interface StoredResponse {
  /** What the handler returned; absent for `undefined`. */
  readonly b?: unknown;
  /** Entity tag. */
  readonly e: string;
  /**
   * When it was made, milliseconds of the clock of that process: only the `Age` header depends on it. To ask Redis for it would
   * make a hit two commands.
   */
  readonly t: number;
  /** Status, when the handler has set another one than its decorators. */
  readonly s?: number;
  /** Headers that the handler has set. */
  readonly h?: Record<string, HeaderValue>;
}

/** Made anew for each response, or kept by `e`. */
const NOT_REPLAYED = new Set([
  'age',
  'connection',
  'content-length',
  'date',
  'etag',
  'keep-alive',
  'transfer-encoding',
  'x-cache',
]);

/** What a response is like before its handler runs. */
export interface Baseline {
  readonly status: number;
  readonly headers: Record<string, HeaderValue | undefined>;
}

export function baselineOf(exchange: HttpExchange): Baseline {
  return { status: exchange.status, headers: exchange.headers() };
}

/** Whether the response says that it is for one client. */
export function isPrivate(exchange: HttpExchange): boolean {
  const control = exchange.header('Cache-Control');
  return control !== '' && /\b(?:private|no-store)\b/i.test(control);
}

/** Whether headers keep a response from being stored: it is private, or was made for this client. */
function isForOneClient(exchange: HttpExchange): boolean {
  if (isPrivate(exchange)) return true;
  if (
    exchange
      .header('Vary')
      .split(',')
      .some((name) => name.trim() === '*')
  )
    return true;
  return exchange.header('Set-Cookie') !== '' || exchange.hasPendingCookies;
}

/** Whether a handler that has run has made what others may get. A partial answer (206) is that to one request. */
export function mayBeShared(exchange: HttpExchange): boolean {
  const { status } = exchange;
  return status >= 200 && status < 300 && status !== 206 && !exchange.isAnswered && !isForOneClient(exchange);
}

/**
 * What to store of a response that its handler has just made.
 *
 * @param before what the response was before; or the former one, which has the same status and headers
 * @throws CodecError when the body cannot be stored so that it comes back equal
 */
export function storedResponse(
  body: unknown,
  before: Baseline | StoredResponse,
  exchange: HttpExchange,
  values: ValueCodec,
): StoredResponse {
  const isFirst = 'status' in before;
  const status = isFirst ? (exchange.status === before.status ? undefined : exchange.status) : before.s;
  const headers = isFirst ? newHeaders(before, exchange) : before.h;
  const etag = etagOf(body, values);
  return {
    ...(body !== undefined && { b: body }),
    e: (isFirst && exchange.header('ETag')) || etag,
    t: Date.now(),
    ...(status !== undefined && { s: status }),
    ...(headers !== undefined && { h: headers }),
  };
}

/** Gives the response what the handler gave the one that was stored. */
export function replay({ s, h }: StoredResponse, exchange: HttpExchange): void {
  if (s !== undefined) exchange.status = s;
  if (h === undefined) return;
  for (const [name, value] of Object.entries(h)) exchange.setHeader(name, value);
}

function newHeaders({ headers: before }: Baseline, exchange: HttpExchange): Record<string, HeaderValue> | undefined {
  let found: Record<string, HeaderValue> | undefined;
  for (const [name, value] of Object.entries(exchange.headers())) {
    if (value === undefined || NOT_REPLAYED.has(name) || isSame(value, before[name])) continue;
    (found ??= {})[name] = Array.isArray(value) ? [...value] : value;
  }
  return found;
}

function isSame(value: HeaderValue, other: HeaderValue | undefined): boolean {
  return value === other || (Array.isArray(value) && JSON.stringify(value) === JSON.stringify(other));
}

/** Empty where a codec of the application takes the body as a part of an entry only. */
function etagOf(body: unknown, values: ValueCodec): string {
  try {
    return digestOf(values.encode(body).text);
  } catch (error) {
    if (error instanceof CodecError && isStorable(body, values)) return '';
    throw error;
  }
}

function isStorable(body: unknown, values: ValueCodec): boolean {
  try {
    values.encode(body === undefined ? {} : { b: body });
    return true;
  } catch {
    return false;
  }
}
