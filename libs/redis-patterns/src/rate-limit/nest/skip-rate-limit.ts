import { instanceMethod } from '../../nest/method-decorator/index.js';
import { addSkips } from './limit-use.js';

/**
 * Takes a handler, or all handlers of a controller, out of limits that are set for more than this handler: by the class, or by a
 * class that it extends. Limits on the handler itself hold.
 *
 * @param names policies to leave out; none means all
 * @throws DecoratedMethodError on anything but a class or an instance method
 *
 * @example
 * ```ts
 * @SkipRateLimit('api')
 * @Get('health')
 * health() { … }
 * ```
 */
export function SkipRateLimit(...names: readonly string[]): ClassDecorator & MethodDecorator {
  return (target: object, key?: string | symbol, descriptor?: PropertyDescriptor): void => {
    if (key === undefined && typeof target === 'function' && descriptor === undefined) addSkips(target, names);
    else addSkips(instanceMethod('@SkipRateLimit', target, key, descriptor), names);
  };
}
