import { UseGuards } from '@nestjs/common';
import {
  decorateMethod,
  instanceMethod,
  type Around,
  type MethodPattern,
} from '../../../nest/method-decorator/index.js';
import { wrapHandler } from './carrier.js';
import { CacheResponseGuard } from './response.guard.js';
import { ResponsePlan } from './response-plan.js';
import { ResponseUse } from './response-use.js';
import type { CacheResponseOptions } from './response.options.js';

/** Checks handlers when the application starts; for requests {@link wrapHandler} does the work. */
const cacheResponse: MethodPattern<ResponseUse> = {
  decorator: '@CacheResponse',
  observable: 'value',
  leavesHandlers: true,
  bind(use, runtime, site): Around {
    // One that the class overrides answers no requests.
    if (!site.name.includes('@')) {
      use.keep(runtime, site.target, new ResponsePlan(use, runtime, site, CacheResponseGuard));
    }
    return (call) => call.proceed();
  },
};

/**
 * Answers GET requests from the cache, and else runs the handler and stores what it returned. On handlers of Express and
 * Fastify.
 *
 * A stored response is found by the route, its `scope`, and the `params`, `query` and `headers` that are declared; nothing else of
 * a request makes a difference. It is around the handler: guards, pipes and interceptors run for each request, hits included,
 * and interceptors get what the handler returned, so that serializers hide on a hit what they hide on a miss. Undeclared query
 * parameters are hidden from the handler, its pipes and parameter decorators, whether or not the cache is used, and from guards
 * that are written above it; interceptors see them again when the handler is done.
 *
 * Stored are answers with 2xx whose value comes back equal: instances of classes need `types`. Never stored, nor given to requests
 * that wait for the same handler: answers with `Set-Cookie`, `Cache-Control: private` or `no-store`, `Vary` with a header that is
 * not declared, streams. Errors are never stored. Status and headers that the handler sets are stored too. The answer gets
 * `X-Cache` (`HIT`, `MISS`, `BYPASS`, or `STALE` for one older than its `ttl`), `ETag` and, unless it is
 * new, `Age`; `If-None-Match` is answered with 304. The tag is that of what the handler returned, so there is none where interceptors may
 * change that (Express then makes one of the body itself). `Cache-Control` is left to the application.
 *
 * Write it above `@UseGuards()` and above other decorators of this library.
 *
 * With `stale` or `earlyRefresh` the handler also runs behind a response that has been sent, with its request. A handler that takes
 * `@Res()` cannot have them, and the defaults of the application do not concern it.
 *
 * Without Redis the handler runs. `HEAD` is answered from what is stored for `GET`, and stores nothing.
 *
 * @throws (boot) InvalidOptionsError without `ttl` or `scope`, on a handler that is not GET or takes `@Res()` without
 * `passthrough`, and where a parameter of the handler or its `@Header('Vary')` names what is not part of the key
 *
 * @example
 * ```ts
 * @Get()
 * @CacheResponse({ ttl: '30s', scope: 'public', query: ['page', 'sort'] })
 * list(@Query() query: ListQuery): Promise<Product[]> { … }
 *
 * @Get(':id/price')
 * @CacheResponse({ ttl: '1m', scope: (context) => context.switchToHttp().getRequest().user?.priceGroup })
 * price(@Param('id') id: string): Promise<Price> { … }
 * ```
 */
export function CacheResponse(options: CacheResponseOptions): MethodDecorator {
  const use = new ResponseUse(options);
  return (target: object, key: string | symbol, descriptor: PropertyDescriptor): void => {
    instanceMethod(cacheResponse.decorator, target, key, descriptor);
    wrapHandler(target, key, descriptor);
    decorateMethod(cacheResponse, use)(target, key, descriptor);
    UseGuards(CacheResponseGuard)(target, key, descriptor);
    use.markOn(descriptor.value as object);
  };
}
