import type { ExecutionContext } from '@nestjs/common';
import type { AbstractHttpAdapter } from '@nestjs/core';

/** What Express and Fastify have in common of a request. */
export interface HttpRequest {
  readonly method: string;
  readonly headers: Record<string, string | string[] | undefined>;
  query?: Record<string, unknown>;
  readonly params?: Record<string, unknown>;
  readonly user?: unknown;
  /** Of Nest, for controllers with a host. */
  readonly hosts?: object;
  readonly route?: { readonly path?: string };
  readonly routeOptions?: { readonly url?: string };
}

export type HeaderValue = string | number | string[];

/** What Express and Fastify have in common of a response. */
interface HttpResponse {
  readonly statusCode: number;
  getHeaders(): Record<string, HeaderValue | undefined>;
}

/** A request and its response, whichever framework they belong to. */
export class HttpExchange {
  readonly request: HttpRequest;
  readonly #response: HttpResponse;
  #hiders = 0;
  /** What the request had as its own `query`, while there is another one in its place. */
  #shown: { readonly own: PropertyDescriptor | undefined } | undefined;

  constructor(
    context: ExecutionContext,
    private readonly adapter: AbstractHttpAdapter,
  ) {
    const http = context.switchToHttp();
    this.request = http.getRequest<HttpRequest>();
    this.#response = http.getResponse<HttpResponse>();
  }

  get status(): number {
    return this.#response.statusCode;
  }

  set status(code: number) {
    this.adapter.status(this.#response, code);
  }

  /** Names are in lower case. */
  headers(): Record<string, HeaderValue | undefined> {
    return this.#response.getHeaders();
  }

  header(name: string): string {
    const value = this.adapter.getHeader(this.#response, name) as HeaderValue | undefined;
    return value === undefined ? '' : String(value);
  }

  setHeader(name: string, value: HeaderValue): void {
    this.adapter.setHeader(this.#response, name, value as string);
  }

  /** Whether the handler has answered by itself, so that what it returned is not the answer. */
  get isAnswered(): boolean {
    return Boolean(this.adapter.isHeadersSent(this.#response));
  }

  /** `@fastify/cookie` keeps cookies aside until the response is sent. */
  get hasPendingCookies(): boolean {
    return Object.getOwnPropertySymbols(this.#response).some((symbol) => {
      if (symbol.description !== 'fastify.reply.setCookies') return false;
      const cookies = (this.#response as unknown as Record<symbol, Map<string, unknown> | null>)[symbol];
      return cookies !== null && cookies !== undefined && cookies.size > 0;
    });
  }

  /** Whether somebody who reads the query now does not see all of it. */
  get isHiding(): boolean {
    return this.#shown !== undefined;
  }

  /** Has everybody see only these query parameters, until {@link showQuery} is called as often as this. */
  hideQueryExcept(names: readonly string[]): void {
    if (this.#hiders++ > 0) return;
    const { request } = this;
    const all = request.query;
    if (all === undefined || all === null) return;
    const shown = Object.getOwnPropertyDescriptor(request, 'query');
    if (Object.keys(all).some((name) => !names.includes(name))) {
      this.#shown = { own: shown };
      const declared = names.filter((name) => Object.hasOwn(all, name));
      setQuery(request, Object.fromEntries(declared.map((name) => [name, all[name]])));
    } else if (shown === undefined) {
      // In Express 5 it is a getter of the prototype, which parses the address each time.
      setQuery(request, all);
    }
  }

  showQuery(): void {
    if (--this.#hiders > 0 || this.#shown === undefined) return;
    const { own } = this.#shown;
    this.#shown = undefined;
    if (own === undefined) delete this.request.query;
    else Object.defineProperty(this.request, 'query', own);
  }
}

/** As its own property, which hides that of the prototype. */
function setQuery(request: HttpRequest, value: Record<string, unknown>): void {
  Object.defineProperty(request, 'query', { value, configurable: true, enumerable: true, writable: true });
}
