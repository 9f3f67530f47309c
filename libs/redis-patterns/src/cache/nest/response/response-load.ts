import { StreamableFile } from '@nestjs/common';
import { isObservable, lastValueFrom } from 'rxjs';
import { CodecError } from '../../../codec/index.js';
import type { CacheLoadContext } from '../../load-context.js';
import type { Handler } from './carrier.js';
import { routeOf, type HttpExchange } from '../../../nest/http/exchange.js';
import type { HiddenQuery } from './hidden-query.js';
import type { ResponsePlan } from './response-plan.js';
import { baselineOf, mayBeShared, storedResponse, type StoredResponse } from './stored-response.js';
import { undeclaredVary } from './vary.js';

/**
 * A response that is for its own request alone. Thrown, so that the cache neither stores it nor gives it to requests that
 * wait for the same load: these run the handler themselves.
 */
export class Unshared {
  constructor(
    readonly load: ResponseLoad,
    readonly body: unknown,
  ) {}
}

/** Runs the handler of one request, for the cache. */
export class ResponseLoad {
  /** What the handler has made, for this request or, in the background, for later ones. */
  made: StoredResponse | undefined;

  constructor(
    private readonly plan: ResponsePlan,
    private readonly exchange: HttpExchange,
    private readonly query: HiddenQuery,
    private readonly handler: Handler,
  ) {}

  // A property, as it is passed on.
  readonly run = async ({ setTtl, skip, stale }: CacheLoadContext): Promise<StoredResponse> => {
    const { plan, exchange } = this;
    // A response that is refreshed has perhaps been sent. Its handler cannot write to it, so it is as the former one was.
    const former = stale as StoredResponse | undefined;
    const before = former ?? baselineOf(exchange);
    const body = await this.#handle();
    if ('status' in before) {
      if (!mayBeShared(exchange)) throw new Unshared(this, body);
      const vary = undeclaredVary(before, exchange, plan.options);
      if (vary !== undefined) {
        plan.warnOnce('ERR_CACHE_RESPONSE_VARY', vary);
        throw new Unshared(this, body);
      }
    }
    if (body === undefined || body === null) setTtl(plan.negativeTtl);
    try {
      this.made = storedResponse(body, before, exchange, plan.values);
      return this.made;
    } catch (error) {
      if (!(error instanceof CodecError)) throw error;
      this.#tellUnstorable(body, error);
      if (former === undefined) throw new Unshared(this, body);
      skip();
      return former;
    }
  };

  /** The cache knows neither the route nor the value that the handler returned, only the entry that holds it. */
  #tellUnstorable(body: unknown, { message }: CodecError): void {
    const why =
      body instanceof StreamableFile
        ? 'it is a stream; take @CacheResponse away from this handler'
        : `${message} ('value' is what the handler returned)`;
    const route = routeOf(this.exchange.request);
    this.plan.warnOnce('ERR_CODEC', `an answer to GET ${route} was not stored: ${why}. This is said once.`);
  }

  async #handle(): Promise<unknown> {
    const { query, plan } = this;
    // What is not part of the key must not get into what others will see. A refresh runs when the request has got it back.
    query.hideExcept(plan.options.query ?? []);
    try {
      const made = this.handler();
      return await (isObservable(made) ? lastValueFrom(made) : made);
    } finally {
      query.show();
    }
  }
}
