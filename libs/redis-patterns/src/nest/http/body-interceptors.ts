import 'reflect-metadata';
import type { ApplicationConfig } from '@nestjs/core';

/** Static property of interceptors that give on what the handler returned. */
export const KEEPS_BODY: unique symbol = Symbol('nestjs-redis-patterns:keeps-body');

/** Written by `@UseInterceptors`. */
const INTERCEPTORS = '__interceptors__';

/**
 * Whether something may send another body than the one that the handler returned: an interceptor of the application, the
 * controller or the handler, such as a serializer.
 */
export function mayChangeBody(config: ApplicationConfig, owner: object, handler: object): boolean {
  const declared = [owner, handler].flatMap(
    (target) => (Reflect.getMetadata(INTERCEPTORS, target) ?? []) as readonly object[],
  );
  const requestScoped = config.getGlobalRequestInterceptors().map(({ metatype }) => metatype as object);
  return [...config.getGlobalInterceptors(), ...requestScoped, ...declared].some((one) => !keepsBody(one));
}

/** @param interceptor a class, or an instance of one */
function keepsBody(interceptor: object): boolean {
  const type = typeof interceptor === 'function' ? interceptor : interceptor.constructor;
  return KEEPS_BODY in type;
}
