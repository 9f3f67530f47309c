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

  /** Has the handler see only these query parameters. Returns a function that gives the others back. */
  hideQueryExcept(names: readonly string[]): () => void {
    const { request } = this;
    const all = request.query;
    if (all === undefined || all === null || Object.keys(all).every((name) => names.includes(name))) return () => {};
    const declared = Object.fromEntries(
      names.filter((name) => Object.hasOwn(all, name)).map((name) => [name, all[name]]),
    );
    // In Express 5 it is a getter of the prototype, which an own property hides.
    const own = Object.getOwnPropertyDescriptor(request, 'query');
    Object.defineProperty(request, 'query', { value: declared, configurable: true, enumerable: true, writable: true });
    return () => {
      if (own === undefined) delete request.query;
      else Object.defineProperty(request, 'query', own);
    };
  }
}
