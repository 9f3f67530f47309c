import { InvalidOptionsError, RedisPatternsError } from '../core/errors.js';
import { isStandardSchema, validate, type StandardSchema } from '../core/standard-schema.js';

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
  return (body) => validate(schema, body, (issues) => new MessageInvalidError(issues));
}
