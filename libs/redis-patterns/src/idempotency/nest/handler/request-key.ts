import type { ExecutionContext } from '@nestjs/common';
import 'reflect-metadata';
import { hashArguments, InvalidKeyError, type Key } from '../../../keys/index.js';
import type { CallSite } from '../../../nest/method-decorator/index.js';
import { routeOf, type HttpExchange } from '../../../nest/http/exchange.js';
import { isId, userIdOf } from '../../../nest/http/user-id.js';
import { IdempotencyKeyError, IdempotencyScopeError } from '../../idempotency.errors.js';
import type { ResolvedHandlerOptions } from './handler.options.js';

/** As the text of a header field of RFC 9651 can be. */
const PRINTABLE = /^[ -~]{1,255}$/;
/** A string of RFC 9651, which the IETF draft makes of the key; many clients send it bare. */
const QUOTED = /^"((?:[^"\\]|\\["\\])*)"$/;

/** Tells from a request which record it is about, and which payload it has. */
export class RequestKeys {
  /** What Nest tells apart besides method and route, such as versions in a header. */
  readonly #place: readonly string[];
  readonly #hasHost: boolean;

  constructor(
    private readonly options: ResolvedHandlerOptions,
    { target, propertyKey }: CallSite,
    private readonly where: string,
  ) {
    const method = (target as Record<string | symbol, object>)[propertyKey]!;
    const version: unknown =
      Reflect.getMetadata('__version__', method) ?? Reflect.getMetadata('__version__', target.constructor);
    this.#place = version === undefined ? [] : [[version].flat().map(String).join()];
    this.#hasHost = Reflect.getMetadata('host', target.constructor) !== undefined;
  }

  /**
   * The key that the client gave; `undefined` when it gave none and need not.
   *
   * @throws IdempotencyKeyError
   */
  clientKey({ request }: HttpExchange): string | undefined {
    const { header, required } = this.options;
    const given = request.headers[header.toLowerCase()];
    if (given === undefined || given === '') {
      if (!required) return undefined;
      throw new IdempotencyKeyError(
        `The header ${header} is needed: a key of your choice, such as a UUID, that is the same when the request is repeated`,
      );
    }
    const text = String(given);
    const key = QUOTED.exec(text)?.[1]?.replace(/\\(.)/g, '$1') ?? text;
    if (PRINTABLE.test(key)) return key;
    throw new IdempotencyKeyError(`The header ${header} must have 1 to 255 printable ASCII characters, such as a UUID`);
  }

  /** @throws IdempotencyScopeError */
  async recordKey(clientKey: string, exchange: HttpExchange, context: ExecutionContext): Promise<Key> {
    const { request } = exchange;
    const host = this.#hasHost ? [request.hosts ?? {}] : [];
    return [
      `${request.method} ${routeOf(request)}`,
      ...this.#place,
      ...host,
      await this.#scopeOf(exchange, context),
      clientKey,
    ];
  }

  /** Whether there is a body that the fingerprint knows nothing of, such as a form with files, or of a type without a parser. */
  missesBody({ request: { body, headers } }: HttpExchange): boolean {
    if (this.options.fingerprint !== undefined || (body !== undefined && body !== null)) return false;
    return Number(headers['content-length'] ?? 0) > 0 || headers['transfer-encoding'] !== undefined;
  }

  /** @throws IdempotencyKeyError for a payload without a stable text */
  fingerprint({ request }: HttpExchange, context: ExecutionContext): string {
    const { fingerprint } = this.options;
    if (fingerprint !== undefined) return hashArguments([fingerprint(context)]);
    try {
      return hashArguments([request.params, request.query, request.body]);
    } catch (error) {
      // What a client sends, such as a body that is nested too deeply, is no error of ours.
      if (error instanceof InvalidKeyError)
        throw new IdempotencyKeyError('The payload cannot be compared with another');
      throw error;
    }
  }

  async #scopeOf({ request: { user } }: HttpExchange, context: ExecutionContext): Promise<string> {
    const { scope } = this.options;
    if (scope !== undefined) {
      const given = await scope(context);
      if (isId(given)) return `=${given}`;
      throw new IdempotencyScopeError(this.where, "'scope' gave no text or number; it must name whose key it is");
    }
    if (user === undefined || user === null) return 'anonymous';
    const id = userIdOf(user);
    if (id !== undefined) return `user:${id}`;
    throw new IdempotencyScopeError(this.where, "the user has no 'id', 'sub' or 'userId'; give 'scope'");
  }
}
