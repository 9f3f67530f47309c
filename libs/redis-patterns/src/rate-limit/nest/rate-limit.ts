import { UseGuards, UseInterceptors, type ExecutionContext } from '@nestjs/common';
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
import { OutcomeInterceptor } from './outcome.interceptor.js';
import { ClassRateLimitGuard, HandlerRateLimitGuard } from './rate-limit.guard.js';

/** Functions that can take an execution context fit handlers too (`any` as their result leads here); those may be synchronous. */
type ForMethods<Fn extends (...args: never[]) => unknown> = [Fn] extends [(context: ExecutionContext) => unknown]
  ? MethodDecorator
  : AsyncMethodDecorator<Fn>;

/**
 * Limits how often a request handler, all handlers of a controller, or any other asynchronous method is called. Several policies
 * are charged all or none; a refused call costs nothing.
 *
 * On handlers it is a guard: it runs before pipes and handler, answers 429 with `Retry-After` and sets the `RateLimit` headers.
 * Guards on a class run before those on its methods, and on one method from the bottom to the top: above `@UseGuards(AuthGuard)`
 * it runs after it, and knows the user; limits of the class and of the application are then decided at the same place. A request
 * is charged once for each policy. Calls of a handler that are no requests are not counted. Leases of a `'concurrency'` policy
 * are released when the response ends, over HTTP only.
 *
 * On other methods it wraps the call, needs `by`, a function of the arguments, and rejects with `RateLimitExceededError`.
 *
 * @param policies a name in `rateLimit.policies`, what `definePolicy` made, a policy (named by the place: `Class.method`), or a
 * list of them; each counts by itself, the user and the address, say
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
): ForMethods<By | Cost | Skip>;
export function RateLimit(policies: RateLimitPolicies, options?: Partial<LimitUse>): ClassDecorator & MethodDecorator {
  // What types refuse is said when the application starts.
  const { by, cost, skipIf, countWhen, ...unknown } = options ?? {};
  const list = Array.isArray(policies)
    ? (policies as LimitUse['policies'])
    : [policies as LimitUse['policies'][number]];
  const use: LimitUse = Object.freeze({ ...unknown, policies: list, by, cost, skipIf, countWhen });
  return (target: object, key?: string | symbol, descriptor?: PropertyDescriptor): void => {
    const onClass = key === undefined;
    if (!onClass) decorateMethod(methodLimit, use)(target, key, descriptor!);
    const guard = UseGuards(onClass ? ClassRateLimitGuard : HandlerRateLimitGuard);
    const enhancers = countWhen === 'failure' ? [guard, UseInterceptors(OutcomeInterceptor)] : [guard];
    for (const enhance of enhancers as [ClassDecorator & MethodDecorator]) {
      if (onClass) enhance(target as () => void);
      else enhance(target, key, descriptor!);
    }
    addUse(onClass ? target : (descriptor!.value as object), use);
  };
}
