import type { ExecutionContext } from '@nestjs/common';
import { escapePart, type KeyPart } from '../../../keys/index.js';
import { routeOf, type HttpRequest } from '../../../nest/http/exchange.js';
import { isId } from '../../../nest/http/user-id.js';
import type { ResolvedResponseOptions, ResponseScope } from './response.options.js';

/** First part of the keys of all responses. */
export const RESPONSE_RESOURCE = 'http';

/**
 * Builds the keys of the responses of one handler: `http:ProductsController.find:/products/%3Aid:public:p.id=42:q.page=2`.
 *
 * Each part says what it is and where it comes from and is escaped, so that no request can make the key of another one.
 */
export class ResponseKeys {
  /** By route, as one handler may have several: each is another part of the application to its guards and pipes. */
  readonly #prefixes = new Map<string, string>();
  readonly #query: readonly Named[];
  readonly #headers: readonly Named[];
  readonly #params: readonly Named[] | undefined;

  /**
   * @param handler `Class.method` and what else tells the handler from others
   * @param hasHost whether the controller is bound to a host
   */
  constructor(
    private readonly handler: string,
    private readonly hasHost: boolean,
    { params, query = [], headers }: ResolvedResponseOptions,
  ) {
    this.#params = params?.map((name) => named('p', name));
    this.#query = query.map((name) => named('q', name));
    this.#headers = headers.map((name) => named('h', name));
  }

  /**
   * @param scope `undefined` for public
   * @throws InvalidKeyError for parameters without a stable text
   */
  keyOf(request: HttpRequest, scope: string | number | bigint | undefined): string {
    let key = this.#prefixOf(request);
    // No text of a function can be taken for `public`, also when an application changes from one to the other.
    key += scope === undefined ? ':public' : `:s=${escapePart(scope)}`;
    if (this.hasHost) key += `:host=${escapePart(request.hosts)}`;
    const { params } = request;
    if (params !== undefined && params !== null) {
      const names =
        this.#params ??
        Object.keys(params)
          .toSorted()
          .map((name) => named('p', name));
      for (const { name, label } of names) key += label + escapePart(params[name] as KeyPart);
    }
    if (this.#query.length > 0) {
      // Express 5 parses it anew each time.
      const query = request.query ?? {};
      for (const { name, label } of this.#query) key += label + escapePart(query[name] as KeyPart);
    }
    for (const { name, label } of this.#headers) key += label + escapePart(request.headers[name]);
    return key;
  }

  #prefixOf(request: HttpRequest): string {
    const route = routeOf(request);
    let prefix = this.#prefixes.get(route);
    if (prefix === undefined) {
      prefix = `${RESPONSE_RESOURCE}:${escapePart(this.handler)}:${escapePart(route)}`;
      this.#prefixes.set(route, prefix);
    }
    return prefix;
  }
}

interface Named {
  readonly name: string;
  readonly label: string;
}

function named(kind: 'p' | 'q' | 'h', name: string): Named {
  return { name, label: `:${kind}.${escapePart(name)}=` };
}

/** A request that is not for the cache, and why. */
export class Bypass {
  static readonly NO_SCOPE = new Bypass();
  static readonly NOT_A_SCOPE = new Bypass(
    "'scope' gave neither a text nor a number, so the request is not answered from the cache. This is said once.",
  );
  static readonly AUTHENTICATED = new Bypass(
    "a request was authenticated, and is not answered from the cache, as the scope is 'public'; give 'scope' as a function, " +
      "or 'shareAuthenticated: true' if the answer is the same for everybody. This is said once.",
  );

  private constructor(readonly warning?: string) {}
}

/** Whose the response to a request is; `undefined` for everybody's. */
export type Admission = string | number | bigint | undefined | Bypass;

/** A promise only if the scope function gives one: most know at once, and each wait costs a hit. */
export function admit(
  { scope, shareAuthenticated }: ResolvedResponseOptions,
  context: ExecutionContext,
  request: HttpRequest,
): Admission | Promise<Admission> {
  if (scope !== 'public') {
    const given = scope(context);
    const isThenable = typeof given === 'object' && given !== null && typeof given.then === 'function';
    return isThenable ? Promise.resolve(given).then(admitScope) : admitScope(given as ResponseScope);
  }
  if (shareAuthenticated) return undefined;
  const isAuthenticated =
    request.headers['authorization'] !== undefined || (request.user !== undefined && request.user !== null);
  return isAuthenticated ? Bypass.AUTHENTICATED : undefined;
}

function admitScope(scope: ResponseScope): Admission {
  if (scope === undefined || scope === null || scope === '') return Bypass.NO_SCOPE;
  return isId(scope) ? scope : Bypass.NOT_A_SCOPE;
}
