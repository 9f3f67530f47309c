import { UseInterceptors } from '@nestjs/common';
import {
  decorateMethod,
  type Around,
  type AsyncMethodDecorator,
  type MethodPattern,
} from '../../nest/method-decorator/index.js';
import { HandlerPlan } from './handler/handler-plan.js';
import type { IdempotentHandlerOptions } from './handler/handler.options.js';
import { IdempotentUse } from './idempotent-use.js';
import { CarriedInterceptor } from './idempotency.interceptor.js';
import { runMethod, type FingerprintOfCall, type IdempotentMethodOptions, type KeyOfCall } from './method-run.js';

/** Handlers are only checked here: there the interceptor does the work. */
const idempotent: MethodPattern<IdempotentUse> = {
  decorator: '@Idempotent',
  observable: 'value',
  leavesHandlers: true,
  onlyOnce: true,
  bind(use, runtime, site): Around {
    if (!site.handlesRequests && !(isOverridden(site.name) && !hasKey(use.raw)))
      return runMethod(use.raw, runtime, site);
    if (site.handlesRequests) use.keep(runtime, site.target, new HandlerPlan(use, runtime, site));
    return (call) => call.proceed();
  },
};

/** A handler that the class overrides answers no requests. */
function isOverridden(name: string): boolean {
  return name.includes('@');
}

function hasKey(raw: unknown): boolean {
  return typeof raw === 'object' && raw !== null && 'key' in raw;
}

/**
 * Runs a request handler, or any other asynchronous method, once for a key, and answers who asks again with the first result.
 *
 * On HTTP handlers the client gives the key, in the header `Idempotency-Key`. Guards run first, for each request; then come
 * this, interceptors, pipes and the handler. A repeated request is answered with the first answer (status, body, the headers
 * that were set meanwhile but `Set-Cookie`) and `Idempotent-Replayed: true`; while the first one runs with 409 and
 * `Retry-After`; with another payload with 422. An error frees the key, unless `store` says otherwise. Keys belong to a route and
 * to the user of the request, or to what `scope` says.
 *
 * On other methods it wraps the call and needs `key`, a function of the arguments; a method that throws frees its key.
 *
 * `IdempotencyService.current()` gives what runs its `token`, `fence` and `signal`.
 *
 * @throws (boot) InvalidOptionsError on handlers that take `@Res()` without `passthrough`, on `@Sse()`, and on handlers of
 * messages and GraphQL: decorate the method that they call
 *
 * @example
 * ```ts
 * @Post()
 * @Idempotent({ ttl: '24h' })
 * create(@Body() order: NewOrder): Promise<Order> { … }
 *
 * @Idempotent({ key: (event: PaymentEvent) => ['payment', event.id] })
 * async settle(event: PaymentEvent): Promise<Receipt> { … }
 * ```
 */
// First, as key functions would else be typed by the other one, which has none.
export function Idempotent<KeyFn extends KeyOfCall, PrintFn extends FingerprintOfCall = never>(
  options: IdempotentMethodOptions<KeyFn, PrintFn>,
): AsyncMethodDecorator<KeyFn | PrintFn>;
export function Idempotent(options?: IdempotentHandlerOptions): MethodDecorator;
export function Idempotent(options: object = {}): MethodDecorator {
  const use = new IdempotentUse(options);
  return (target: object, key: string | symbol, descriptor: PropertyDescriptor): void => {
    decorateMethod(idempotent, use)(target, key, descriptor);
    UseInterceptors(CarriedInterceptor)(target, key, descriptor);
    use.markOn(descriptor.value as object);
  };
}
