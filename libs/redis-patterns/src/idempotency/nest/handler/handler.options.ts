import type { ExecutionContext } from '@nestjs/common';
import { z } from 'zod';
import { parseOptions } from '../../../core/index.js';
import { idempotencyCallSchema, type IdempotencyCallOptions } from '../../idempotency.options.js';

/** Whose key it is. Nothing (`undefined`, `null`, `''`) is an error; 0 is a value. */
export type IdempotencyScope = string | number | bigint | null | undefined;

/** Options of `@Idempotent` on a request handler. */
export interface IdempotentHandlerOptions extends IdempotencyCallOptions {
  /** The header with the key. Default `'Idempotency-Key'`. */
  header?: string;
  /** Whether a request without key is refused with 400 (default), or just runs. */
  required?: boolean;
  /**
   * Who shares keys, such as a tenant; called after the guards. Default: the `id`, `sub` or `userId` of `request.user`; requests
   * without user share theirs, so that their keys have to be hard to guess (UUIDs are).
   */
  scope?: (context: ExecutionContext) => IdempotencyScope | Promise<IdempotencyScope>;
  /** What a repeated request must have in common with the first. Default: path parameters, query and parsed body. */
  fingerprint?: (context: ExecutionContext) => unknown;
  /**
   * Which answers are replayed: `'success'` (default), also those with `'4xx'`, or `'all'`. Others free the key, as do, except
   * with `'all'`, 408, 425 and 429, which mean to try again.
   */
  store?: 'success' | '4xx' | 'all';
}

const isFunction = <Fn>(value: unknown): value is Fn => typeof value === 'function';

const schema = idempotencyCallSchema.extend({
  key: z
    .undefined(
      "is for methods that answer no HTTP requests; here the client gives the key in a header (see 'header' and 'scope')",
    )
    .optional(),
  header: z
    .string('must be the name of a header')
    .regex(/^[\w!#$%&'*+.^`|~-]+$/, 'must be the name of a header')
    .default('Idempotency-Key'),
  required: z.boolean('must be true or false').default(true),
  scope: z
    .custom<NonNullable<IdempotentHandlerOptions['scope']>>(isFunction, 'must be a function of the execution context')
    .optional(),
  fingerprint: z
    .custom<NonNullable<IdempotentHandlerOptions['fingerprint']>>(
      isFunction,
      'must be a function of the execution context',
    )
    .optional(),
  store: z.enum(['success', '4xx', 'all'], "must be 'success', '4xx' or 'all'").default('success'),
});

export type ResolvedHandlerOptions = z.output<typeof schema>;

/** @throws InvalidOptionsError */
export function resolveHandlerOptions(raw: unknown, where: string): ResolvedHandlerOptions {
  return parseOptions(schema, raw, where);
}
