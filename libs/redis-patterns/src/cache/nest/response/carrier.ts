import { Req } from '@nestjs/common';
import 'reflect-metadata';
import { ROUTE_ARGUMENTS } from './check-handler.js';

/** Runs the handler with the arguments that it was given. */
export type Handler = () => unknown;

/** What is done instead of running the handler of one request. */
export interface Carried {
  run(handler: Handler): unknown;
}

/** Property of a request, from the guard to the handler. */
const CARRIED = Symbol('nestjs-redis-patterns:cache-response');

interface Carrying {
  [CARRIED]?: Carried | undefined;
}

/** Has the handler of a request that {@link wrapHandler} has wrapped be run by `carried`. */
export function carry(request: object, carried: Carried): void {
  (request as Carrying)[CARRIED] = carried;
}

/**
 * Wraps a handler. Nest passes the request to it as one more argument, behind its own, which is how it is known whose call it
 * is; a call without that is no request, and runs the method as it is. `@Req()` is used for that as no pipe sees it.
 */
export function wrapHandler(target: object, key: string | symbol, descriptor: PropertyDescriptor): void {
  const method = descriptor.value as (...args: unknown[]) => unknown;
  const index = firstFreeIndex(target, key, method.length);
  Req()(target, key, index);
  descriptor.value = new Proxy(method, {
    apply(_method, instance: unknown, args: unknown[]): unknown {
      const request = args[index] as Carrying | undefined;
      const carried = request?.[CARRIED];
      if (carried === undefined) return Reflect.apply(method, instance, args);
      // Once: what the handler calls is not answered for this request.
      request![CARRIED] = undefined;
      return carried.run(() => Reflect.apply(method, instance, args.slice(0, index)));
    },
  });
  for (const name of Reflect.getOwnMetadataKeys(method) as unknown[]) {
    Reflect.defineMetadata(name, Reflect.getOwnMetadata(name, method), descriptor.value as object);
  }
}

/** Behind all parameters, those with a default value included, which `length` does not count. */
function firstFreeIndex(target: object, key: string | symbol, length: number): number {
  const all = (Reflect.getMetadata(ROUTE_ARGUMENTS, target.constructor, key) ?? {}) as Record<
    string,
    { index: number }
  >;
  return Math.max(length, ...Object.values(all).map(({ index }) => index + 1));
}
