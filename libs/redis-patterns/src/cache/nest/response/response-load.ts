import type { CallHandler } from '@nestjs/common';
import { lastValueFrom } from 'rxjs';
import type { CacheLoadContext } from '../../load-context.js';
import type { HttpExchange } from './exchange.js';
import type { ResponsePlan } from './response-plan.js';
import { baselineOf, mayBeShared, storedResponse, type StoredResponse } from './stored-response.js';

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
    private readonly next: CallHandler,
  ) {}

  // A property, as it is passed on.
  readonly run = async ({ setTtl, stale }: CacheLoadContext): Promise<StoredResponse> => {
    const { plan, exchange } = this;
    // A response that is refreshed has perhaps been sent. Its handler cannot write to it, so it is as the former one was.
    const former = stale as StoredResponse | undefined;
    const before = former ?? baselineOf(exchange);
    const body = await this.#handle();
    if (former === undefined && !mayBeShared(exchange)) throw new Unshared(this, body);
    if (body === undefined || body === null) setTtl(plan.negativeTtl);
    this.made = storedResponse(body, before, exchange, plan.values);
    return this.made;
  };

  async #handle(): Promise<unknown> {
    // What is not part of the key must not get into what others will see.
    const giveBack = this.exchange.hideQueryExcept(this.plan.options.query ?? []);
    try {
      return await lastValueFrom(this.next.handle());
    } finally {
      giveBack();
    }
  }
}
