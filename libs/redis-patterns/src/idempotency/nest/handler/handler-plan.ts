import { HttpException, type CallHandler, type ExecutionContext } from '@nestjs/common';
import { lastValueFrom } from 'rxjs';
import type { CallSite, PatternsRuntime } from '../../../nest/method-decorator/index.js';
import type { HttpExchange } from '../../../nest/http/exchange.js';
import { mergeIdempotencyCall, type ResolvedIdempotencyCall } from '../../idempotency.options.js';
import { IdempotencyService } from '../../idempotency.service.js';
import type { IdempotentUse } from '../idempotent-use.js';
import { checkHandler } from './check-handler.js';
import { resolveHandlerOptions, type ResolvedHandlerOptions } from './handler.options.js';
import { RequestKeys } from './request-key.js';
import { replayAnswer, textOfAnswer, textOfError } from './stored-answer.js';

/** What `@Idempotent` says of one handler, made ready for requests. */
export class HandlerPlan {
  readonly #where: string;
  readonly #service: IdempotencyService;
  readonly #store: ResolvedHandlerOptions['store'];
  readonly #call: ResolvedIdempotencyCall;
  readonly #keys: RequestKeys;

  /** @throws InvalidOptionsError naming `Class.method` */
  constructor(use: IdempotentUse, runtime: PatternsRuntime, site: CallSite) {
    const where = (this.#where = `@Idempotent on ${site.name}`);
    // First: what answers no HTTP requests takes other options.
    checkHandler(site, use.isOn(site), where);
    const options = resolveHandlerOptions(use.raw, where);
    this.#service = runtime.engine(IdempotencyService);
    this.#call = mergeIdempotencyCall(options, this.#service.options);
    this.#store = options.store;
    this.#keys = new RequestKeys(options, site, where);
  }

  /**
   * What to answer: of the handler, or of its first run.
   *
   * @param onReplay called when an answer is replayed
   * @throws IdempotencyRefusedError, IdempotencyScopeError, and what the handler throws
   */
  async answer(
    context: ExecutionContext,
    exchange: HttpExchange,
    next: CallHandler,
    onReplay: () => void,
  ): Promise<unknown> {
    const run = (): Promise<unknown> => lastValueFrom(next.handle());
    const clientKey = this.#keys.clientKey(exchange);
    if (clientKey === undefined) return run();
    if (this.#keys.missesBody(exchange)) this.#warnOfBody();
    const key = await this.#keys.recordKey(clientKey, exchange, context);
    const before = exchange.headers();
    const perform = (call: ResolvedIdempotencyCall): Promise<unknown> =>
      this.#service.perform<unknown>(key, this.#keys.fingerprint(exchange, context), call, {
        where: this.#where,
        run,
        keep: (body) => textOfAnswer(body, before, exchange, this.#store),
        keepError: (error) => textOfError(error, before, exchange, this.#store),
        replay: (text) => {
          onReplay();
          return replayAnswer(text, exchange);
        },
      });
    return this.#call.onBusy === 'wait' ? whileConnected(exchange, this.#call, perform) : perform(this.#call);
  }

  /** The handler's own work, which an interceptor around it may give up before it has ended. */
  watch(work: Promise<unknown>): void {
    this.#service.watch(work);
  }

  #warnOfBody(): void {
    const message =
      `${this.#where}: a request has a body that no parser has read before, so it is not compared: a key that is used again with ` +
      "another body gets the first answer. Give a 'fingerprint', or a parser for that type of content.";
    this.#service.warnOnce('ERR_IDEMPOTENCY_MISMATCH', message, this.#where);
  }
}

/** Ends the waiting when the client leaves; a handler that runs is not ended. */
async function whileConnected(
  exchange: HttpExchange,
  call: ResolvedIdempotencyCall,
  perform: (call: ResolvedIdempotencyCall) => Promise<unknown>,
): Promise<unknown> {
  const left = new AbortController();
  // An HttpException, which Nest does not log. Nobody gets it.
  const stopListening = exchange.onClose(() => left.abort(new HttpException('Client Closed Request', 499)));
  try {
    return await perform({ ...call, signal: left.signal });
  } finally {
    stopListening();
  }
}
