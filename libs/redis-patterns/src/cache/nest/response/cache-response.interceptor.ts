import { Inject, Injectable, Optional } from '@nestjs/common';
import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { of, type Observable } from 'rxjs';
import { NotBoundError } from '../../../core/errors.js';
import { InvalidKeyError } from '../../../keys/index.js';
import { PATTERNS_RUNTIME, PatternsRuntime } from '../../../nest/method-decorator/index.js';
import { isNotModified } from './etag.js';
import { HttpExchange } from './exchange.js';
import { admit, Bypass, type Admission } from './response-key.js';
import type { ResponsePlan } from './response-plan.js';
import { ResponseUse } from './response-use.js';
import { ResponseLoad, Unshared } from './response-load.js';
import { isPrivate, replay, type StoredResponse } from './stored-response.js';

/** The interceptor that `@CacheResponse` puts on a handler. Guards run before it, interceptors above see hits as they see misses. */
@Injectable()
export class CacheResponseInterceptor implements NestInterceptor {
  readonly #plans = new WeakMap<object, WeakMap<object, ResponsePlan>>();

  constructor(
    @Optional() @Inject(PATTERNS_RUNTIME) private readonly runtime: PatternsRuntime | undefined,
    @Inject(HttpAdapterHost) private readonly adapterHost: HttpAdapterHost,
  ) {}

  /**
   * @throws what the handler throws, which is not stored
   * @throws NotBoundError where RedisPatternsModule is not imported
   */
  async intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    const plan = this.#planOf(context);
    const exchange = new HttpExchange(context, this.adapterHost.httpAdapter);
    const admission = admit(plan.options, context, exchange.request);
    const key = keyFor(plan, exchange, admission instanceof Promise ? await admission : (admission as Admission));
    if (key === undefined) {
      exchange.setHeader('X-Cache', 'BYPASS');
      return next.handle();
    }
    // The answer to HEAD is that to GET without its body. It is not stored, as its handler may not have made one.
    if (exchange.request.method === 'HEAD') return answerHead(plan, key, exchange, next);
    const load = new ResponseLoad(plan, exchange, next);
    try {
      const stored = await plan.cache.getOrSet<StoredResponse>(key, load.run, plan.policyFor(context));
      return of(answer(stored, exchange, stored === load.made ? 'MISS' : stateOf(stored, plan)));
    } catch (error) {
      if (!(error instanceof Unshared)) throw error;
      exchange.setHeader('X-Cache', 'MISS');
      return error.load === load ? of(error.body) : next.handle();
    }
  }

  #planOf(context: ExecutionContext): ResponsePlan {
    const owner = context.getClass();
    const handler = context.getHandler();
    let plans = this.#plans.get(owner);
    if (plans === undefined) this.#plans.set(owner, (plans = new WeakMap()));
    let plan = plans.get(handler);
    if (plan === undefined) plans.set(handler, (plan = this.#findPlan(owner.prototype as object, handler)));
    return plan;
  }

  #findPlan(prototype: object, handler: { readonly name: string }): ResponsePlan {
    const { runtime } = this;
    const plan = runtime instanceof PatternsRuntime ? ResponseUse.of(handler)?.planFor(runtime, prototype) : undefined;
    if (plan !== undefined) return plan;
    throw new NotBoundError(
      `${prototype.constructor.name}.${handler.name} with @CacheResponse was not run: RedisPatternsModule is not imported in the ` +
        `module of its controller (with isGlobal: false it has to be, in every such module), or has not started.`,
    );
  }
}

/** The key of the response, or `undefined` for a request that is not for the cache. */
function keyFor(plan: ResponsePlan, exchange: HttpExchange, admission: Admission): string | undefined {
  if (admission instanceof Bypass) {
    plan.warnOnce(admission.warning);
    return undefined;
  }
  if (isPrivate(exchange)) return undefined;
  try {
    return plan.keys.keyOf(exchange.request, admission);
  } catch (error) {
    // What a client sends, such as parameters nested too deeply, is never an error of the cache.
    if (error instanceof InvalidKeyError) return undefined;
    throw error;
  }
}

async function answerHead(
  plan: ResponsePlan,
  key: string,
  exchange: HttpExchange,
  next: CallHandler,
): Promise<Observable<unknown>> {
  const stored = await plan.cache.get<StoredResponse>(key);
  if (stored !== undefined) return of(answer(stored, exchange, stateOf(stored, plan)));
  exchange.setHeader('X-Cache', 'MISS');
  return next.handle();
}

type State = 'HIT' | 'MISS' | 'STALE';

/** By the clocks of two processes, as for `Age`: it decides nothing. */
function stateOf({ t }: StoredResponse, { ttl }: ResponsePlan): State {
  return Date.now() - t > ttl ? 'STALE' : 'HIT';
}

/** Sets the headers. The body is given also with 304, so that interceptors above see what they always see; it is not sent. */
function answer(stored: StoredResponse, exchange: HttpExchange, state: State): unknown {
  if (state !== 'MISS') {
    replay(stored, exchange);
    exchange.setHeader('Age', String(Math.max(0, Math.floor((Date.now() - stored.t) / 1000))));
  }
  exchange.setHeader('X-Cache', state);
  if (stored.e !== '') exchange.setHeader('ETag', stored.e);
  if (isNotModified(exchange.request.headers['if-none-match'], stored.e)) exchange.status = 304;
  return stored.b;
}
