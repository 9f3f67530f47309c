import { createRequire } from 'node:module';
import { ValidationPipe } from '@nestjs/common';
import { InvalidOptionsError } from '../../core/errors.js';
import { MessageInvalidError, type SchemaClass, type Validator } from '../message-schema.js';

const PACKAGES = ['class-validator', 'class-transformer'];

/**
 * Checks payloads by the decorators of a class, as Nest does it: with its `ValidationPipe`. The handler gets an instance.
 *
 * @param where who gave the class, for messages
 * @throws InvalidOptionsError where the packages are missing; the pipe would end the process
 */
export function validateByClass(type: SchemaClass, where: string): Validator {
  const missing = PACKAGES.filter((name) => !isInstalled(name));
  if (missing.length > 0) {
    const message = `is the class ${type.name}, which needs the packages ${missing.join(' and ')}; install them, or give a Standard Schema`;
    throw new InvalidOptionsError(where, [{ path: 'schema', message }]);
  }
  const pipe = new ValidationPipe({
    transform: true,
    expectedType: type as new () => object,
    exceptionFactory: (errors) => new MessageInvalidError(errors.flatMap((error) => describe(error))),
  });
  return (body) => pipe.transform(body, { type: 'body' }) as Promise<unknown>;
}

interface PropertyError {
  readonly property: string;
  readonly constraints?: Record<string, string>;
  readonly children?: readonly PropertyError[];
}

function describe({ property, constraints = {}, children = [] }: PropertyError, path = ''): string[] {
  const name = path === '' ? property : `${path}.${property}`;
  const own = Object.values(constraints).map((message) => `${name}: ${message}`);
  return [...own, ...children.flatMap((child) => describe(child, name))];
}

function isInstalled(name: string): boolean {
  try {
    createRequire(import.meta.url).resolve(name);
    return true;
  } catch {
    return false;
  }
}
