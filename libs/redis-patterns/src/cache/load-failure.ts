import type { ValueCodec } from '../codec/index.js';
import type { Content } from './entry.js';

/** What is remembered of an error that a factory threw: text and numbers, not the error itself, its class or its stack. */
export interface CacheLoadFailure {
  readonly name: string;
  /** At most 1 000 characters. */
  readonly message: string;
  readonly code?: string | number;
  /** Its `status` or `statusCode`, as errors of HTTP have. */
  readonly status?: number;
}

const MAX_NAME = 100;
const MAX_MESSAGE = 1_000;

/** An error as the content of an entry. */
export function failureContent(error: unknown, values: ValueCodec): Content {
  return { codec: 'json', kind: 'e', payload: JSON.stringify(failureOf(error)), values };
}

/** `undefined` for a damaged text. */
export function parseFailure(payload: string): CacheLoadFailure | undefined {
  try {
    const { name, message, code, status } = JSON.parse(payload) as Partial<Record<string, unknown>>;
    return typeof name === 'string' && typeof message === 'string' ? pick({ name, message, code, status }) : undefined;
  } catch {
    return undefined;
  }
}

function failureOf(error: unknown): CacheLoadFailure {
  if (typeof error !== 'object' || error === null) return pick({ name: 'Error', message: String(error) });
  const { name, message, code, status, statusCode } = error as Partial<Record<string, unknown>>;
  return pick({
    name: typeof name === 'string' ? name : 'Error',
    message: typeof message === 'string' ? message : '',
    code,
    status: typeof status === 'number' ? status : statusCode,
  });
}

function pick(given: { name: string; message: string; code?: unknown; status?: unknown }): CacheLoadFailure {
  const { code, status } = given;
  const isCode = typeof code === 'number' || (typeof code === 'string' && code.length <= MAX_NAME);
  return {
    name: given.name.slice(0, MAX_NAME),
    message: given.message.slice(0, MAX_MESSAGE),
    ...(isCode && { code }),
    ...(typeof status === 'number' && { status }),
  };
}
