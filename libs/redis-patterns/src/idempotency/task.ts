import { CodecError, decodeValue, encodeValue } from '../codec/index.js';
import type { IdempotencyContext } from './execution.js';

/** What is run under a key, and how its result becomes text and comes back. */
export interface Task<T> {
  /** For warnings: what is run, such as `@Idempotent on Orders.create`. */
  readonly where?: string;
  run(context: IdempotencyContext): Promise<T> | T;
  /**
   * The text to keep; `undefined` for a result after which the key is free again.
   *
   * @throws for what cannot be kept; the message says why
   */
  keep(value: T): string | undefined;
  /** The same for an error. Default: the key is free again. */
  keepError?(error: unknown): string | undefined;
  /** The result from its text; throws what was kept of an error. */
  replay(text: string): Promise<T> | T;
}

/** Results as the codec keeps them. */
export function valueTask<T>(run: Task<T>['run'], where?: string): Task<T> {
  return {
    ...(where !== undefined && { where }),
    run,
    keep: (value) => encodeValue(value),
    replay: (text) => decodeValue(text) as T,
  };
}

/** @throws CodecError for a text above `maxBody` bytes */
export function checkSize(text: string | undefined, maxBody: number): string | undefined {
  if (text === undefined || Buffer.byteLength(text) <= maxBody) return text;
  throw new CodecError(`it is longer than 'maxBody' (${maxBody} bytes)`);
}
