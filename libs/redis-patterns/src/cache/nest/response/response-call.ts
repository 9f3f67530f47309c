import type { ExecutionContext } from '@nestjs/common';
import { InvalidKeyError } from '../../../keys/index.js';
import type { Carried, Handler } from './carrier.js';
import { isNotModified } from './etag.js';
import type { HttpExchange } from '../../../nest/http/exchange.js';
import type { HiddenQuery } from './hidden-query.js';
import { admit, Bypass, type Admission } from './response-key.js';
import { ResponseLoad, Unshared } from './response-load.js';
import type { ResponsePlan } from './response-plan.js';
import { isPrivate, replay, type StoredResponse } from './stored-response.js';

type State = 'HIT' | 'MISS' | 'STALE';

/** One request of a handler, which is answered from the cache, or by the handler. Its query parameters are hidden until then. */
export class ResponseCall implements Carried {
  constructor(
    private readonly plan: ResponsePlan,
    private readonly context: ExecutionContext,
    private readonly exchange: HttpExchange,
    private readonly query: HiddenQuery,
    /** Whether what the handler returned is what is sent. */
    private readonly sendsValue: boolean,
  ) {}

  /**
   * What the handler returned, now or before; the response has got its status and headers.
   *
   * @throws what the handler throws, which is not stored
   */
  run(handler: Handler): unknown {
    return this.query.isHiding ? this.#runHidden(handler) : this.#run(handler);
  }

  /** Interceptors see all of the query again when the handler is done. */
  async #runHidden(handler: Handler): Promise<unknown> {
    try {
      return await this.#run(handler);
    } finally {
      this.query.show();
    }
  }

  #run(handler: Handler): unknown {
    const admission = admit(this.plan.options, this.context, this.exchange.request);
    if (admission instanceof Promise) return admission.then((admitted) => this.#answer(admitted, handler));
    return this.#answer(admission as Admission, handler);
  }

  #answer(admission: Admission, handler: Handler): unknown {
    const { exchange } = this;
    const key = this.#keyFor(admission);
    if (key === undefined) {
      exchange.setHeader('X-Cache', 'BYPASS');
      return handler();
    }
    // The answer to HEAD is that to GET without its body. It is not stored, as its handler may not have made one.
    return exchange.request.method === 'HEAD' ? this.#answerHead(key, handler) : this.#answerGet(key, handler);
  }

  async #answerGet(key: string, handler: Handler): Promise<unknown> {
    const { plan, exchange } = this;
    const load = new ResponseLoad(plan, exchange, this.query, handler);
    try {
      const stored = await plan.cache.getOrSet<StoredResponse>(key, load.run, plan.policyFor(this.context));
      return this.#give(stored, stored === load.made ? 'MISS' : stateOf(stored, plan));
    } catch (error) {
      if (!(error instanceof Unshared)) throw error;
      exchange.setHeader('X-Cache', 'MISS');
      return error.load === load ? error.body : handler();
    }
  }

  async #answerHead(key: string, handler: Handler): Promise<unknown> {
    const { plan, exchange } = this;
    const stored = await plan.cache.get<StoredResponse>(key);
    if (stored !== undefined) return this.#give(stored, stateOf(stored, plan));
    exchange.setHeader('X-Cache', 'MISS');
    return handler();
  }

  /** The key of the response, or `undefined` for a request that is not for the cache. */
  #keyFor(admission: Admission): string | undefined {
    const { plan, exchange } = this;
    if (admission instanceof Bypass) {
      if (admission.warning !== undefined) plan.warnOnce('ERR_CACHE_RESPONSE_BYPASS', admission.warning);
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

  /** Sets the headers. The body is given also with 304, so that interceptors see what they always see; it is not sent. */
  #give(stored: StoredResponse, state: State): unknown {
    const { exchange } = this;
    if (state !== 'MISS') {
      replay(stored, exchange);
      exchange.setHeader('Age', String(Math.max(0, Math.floor((Date.now() - stored.t) / 1000))));
    }
    exchange.setHeader('X-Cache', state);
    // An interceptor may send different clients different bodies: a tag of the value would stand for none of them.
    if (!this.sendsValue || stored.e === '') return stored.b;
    exchange.setHeader('ETag', stored.e);
    if (isNotModified(exchange.request.headers['if-none-match'], stored.e)) exchange.status = 304;
    return stored.b;
  }
}

/** By the clocks of two processes, as for `Age`: it decides nothing. */
function stateOf({ t }: StoredResponse, { ttl }: ResponsePlan): State {
  return Date.now() - t > ttl ? 'STALE' : 'HIT';
}
