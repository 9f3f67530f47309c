import { InvalidOptionsError, RedisPatternsError } from '../core/errors.js';

/** What a schema library gives, such as zod, valibot or arktype: https://standardschema.dev, version 1. */
export interface StandardSchema<Output = unknown> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
  };
}

type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | {
      readonly issues: readonly {
        readonly message: string;
        readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
      }[];
    };

/** A class whose properties are decorated for class-validator. */
export type SchemaClass = abstract new (...args: never[]) => object;

/** What a payload must look like: a Standard Schema, or a class for class-validator. */
export type MessageSchema = StandardSchema | SchemaClass;

/**
 * Checks a payload and gives what the handler gets.
 *
 * @throws MessageInvalidError
 */
export type Validator = (body: unknown) => unknown;

/** Makes validators of classes; the engine itself knows of no library for that. */
export type ClassValidation = (type: SchemaClass, where: string) => Validator;

/**
 * A payload does not fit its schema: no attempt will ever succeed, so that the message becomes a dead letter; publishing it
 * is refused. Code `ERR_STREAM_INVALID`.
 */
export class MessageInvalidError extends RedisPatternsError {
  constructor(
    /** Path and message of each, as the schema tells them. */
    readonly issues: readonly string[],
  ) {
    super('ERR_STREAM_INVALID', `The payload does not fit its schema: ${issues.slice(0, 10).join('; ')}`);
  }
}

export function isStandardSchema(value: unknown): value is StandardSchema {
  if (value === null || (typeof value !== 'object' && typeof value !== 'function')) return false;
  const standard = (value as Partial<StandardSchema>)['~standard'];
  return typeof standard?.validate === 'function';
}

export function isMessageSchema(value: unknown): value is MessageSchema {
  return isStandardSchema(value) || (typeof value === 'function' && /^class\b/.test(String(value)));
}

/**
 * @param where who gave the schema, for messages
 * @throws InvalidOptionsError for a class where nothing can validate by classes
 */
export function validatorOf(schema: MessageSchema, ofClass: ClassValidation | undefined, where: string): Validator {
  if (!isStandardSchema(schema)) {
    if (ofClass !== undefined) return ofClass(schema, where);
    const message = 'is a class, which only a NestJS application can check; give a Standard Schema (zod, valibot, …)';
    throw new InvalidOptionsError(where, [{ path: 'schema', message }]);
  }
  const { validate } = schema['~standard'];
  return (body) => {
    const result = validate(body);
    return result instanceof Promise ? result.then(valueOf) : valueOf(result);
  };
}

function valueOf(result: SchemaResult<unknown>): unknown {
  if (result.issues === undefined) return result.value;
  throw new MessageInvalidError(
    result.issues.map(({ message, path = [] }) => {
      const names = path.map((part) => String(typeof part === 'object' ? part.key : part));
      return names.length === 0 ? message : `${names.join('.')}: ${message}`;
    }),
  );
}
