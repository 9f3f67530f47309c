import { UseGuards } from '@nestjs/common';
import { decorateMethod, type AsyncMethodDecorator } from '../../nest/method-decorator/index.js';
import {
  addUse,
  type CostOfCall,
  type HandlerLimitOptions,
  type LimitUse,
  type MethodLimitOptions,
  type RateLimitPolicies,
  type SkipCall,
  type SubjectOfCall,
} from './limit-use.js';
import { methodLimit } from './method-limit.js';
import { HandlerRateLimitGuard, RateLimitGuard } from './rate-limit.guard.js';

/**
 * Limits how often a request handler, all handlers of a controller, or any other asynchronous method is called. Several policies
 * are charged all or none; a refused call costs nothing.
 *
 * On handlers it is a guard: it runs before pipes and handler, answers 429 with `Retry-After` and sets the `RateLimit` headers.
 * Guards on a class run before those on its methods, and on one method from the bottom to the top: above `@UseGuards(AuthGuard)`
 * it runs after it, and knows the user; limits of the class are then decided at the same place. A request is charged once for
 * each policy. Calls of a handler that are no requests are not counted.
 *
 * On other methods it wraps the call, needs `by`, a function of the arguments, and rejects with `RateLimitExceededError`.
 *
 * @param policies a name in `rateLimit.policies`, what `definePolicy` made, a policy (named by the place: `Class.method`), or a
 * list of them, which have to count the same subject
 *
 * @example
 * ```ts
 * @RateLimit('api')
 * @Controller('orders')
 * export class OrdersController {
 *   @Post()
 *   @RateLimit({ limit: 10, window: '1m' }, { by: 'ip' })
 *   create(@Body() order: NewOrder) { … }
 * }
 *
 * @RateLimit(smsPolicy, { by: (phone: string) => `phone:${phone}` })
 * async send(phone: string, text: string): Promise<void> { … }
 * ```
 */
export function RateLimit(policies: RateLimitPolicies, options?: HandlerLimitOptions): ClassDecorator & MethodDecorator;
export function RateLimit<By extends SubjectOfCall, Cost extends CostOfCall = never, Skip extends SkipCall = never>(
  policies: RateLimitPolicies,
  options: MethodLimitOptions<By, Cost, Skip>,
): AsyncMethodDecorator<By | Cost | Skip>;
export function RateLimit(
  policies: RateLimitPolicies,
  { by, cost, skipIf, ...unknown }: Partial<LimitUse> = {},
): ClassDecorator & MethodDecorator {
  const list = Array.isArray(policies)
    ? (policies as LimitUse['policies'])
    : [policies as LimitUse['policies'][number]];
  const use: LimitUse = Object.freeze({ ...unknown, policies: list, by, cost, skipIf });
  return (target: object, key?: string | symbol, descriptor?: PropertyDescriptor): void => {
    if (key === undefined) {
      UseGuards(RateLimitGuard)(target as () => void);
      addUse(target, use);
      return;
    }
    decorateMethod(methodLimit, use)(target, key, descriptor!);
    UseGuards(HandlerRateLimitGuard)(target, key, descriptor!);
    addUse(descriptor!.value as object, use);
  };
}
