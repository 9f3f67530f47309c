import { setSkips } from './limit-use.js';

/**
 * Takes a handler, or all handlers of a controller, out of limits that are set for more than this handler: by the class, or by a
 * class that it extends. Limits on the handler itself hold.
 *
 * @param names policies to leave out; none means all
 *
 * @example
 * ```ts
 * @SkipRateLimit('api')
 * @Get('health')
 * health() { … }
 * ```
 */
export function SkipRateLimit(...names: readonly string[]): ClassDecorator & MethodDecorator {
  return (target: object, _key?: string | symbol, descriptor?: PropertyDescriptor): void => {
    setSkips((descriptor?.value as object | undefined) ?? target, names);
  };
}
