import { createRequire } from 'node:module';
import { join } from 'node:path';
import { ValidationPipe, type ValidationPipeOptions } from '@nestjs/common';
import { InvalidOptionsError } from '../../core/errors.js';
import { MessageInvalidError, type SchemaClass, type Validator } from '../message-schema.js';

/**
 * Checks payloads by the decorators of a class, as Nest does it: with its `ValidationPipe`. The handler gets an instance.
 *
 * @param where who gave the class, for messages
 * @throws InvalidOptionsError where the packages are missing; left to itself the pipe would end the process
 */
export function validateByClass(type: SchemaClass, where: string): Validator {
  const [validator, transformer] = ['class-validator', 'class-transformer'].map(load);
  if (validator === undefined || transformer === undefined) {
    const message = `is the class ${type.name}, which needs the packages class-validator and class-transformer; install them, or give a Standard Schema`;
    throw new InvalidOptionsError(where, [{ path: 'schema', message }]);
  }
  const pipe = new ValidationPipe({
    transform: true,
    expectedType: type as new () => object,
    exceptionFactory: (errors) => new MessageInvalidError(errors.flatMap((error) => describe(error))),
    validatorPackage: validator as NonNullable<ValidationPipeOptions['validatorPackage']>,
    transformerPackage: transformer as NonNullable<ValidationPipeOptions['transformerPackage']>,
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

/** A package of the application, in which the class was decorated, or one beside this library. */
function load(name: string): unknown {
  for (const from of [join(process.cwd(), 'package.json'), import.meta.url]) {
    try {
      return createRequire(from)(name);
    } catch {
      // Not there.
    }
  }
  return undefined;
}
