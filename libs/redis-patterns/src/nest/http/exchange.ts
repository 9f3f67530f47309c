import type { ExecutionContext } from '@nestjs/common';
import type { AbstractHttpAdapter } from '@nestjs/core';
import type { EventEmitter } from 'node:events';

/** What Express and Fastify have in common of a request. */
export interface HttpRequest {
  readonly method: string;
  readonly headers: Record<string, string | string[] | undefined>;
  readonly query?: Record<string, unknown>;
  readonly params?: Record<string, unknown>;
  readonly body?: unknown;
  readonly user?: unknown;
  /** Of Nest, for controllers with a host. */
  readonly hosts?: object;
  readonly route?: { readonly path?: string };
  readonly routeOptions?: { readonly url?: string };
}

export type HeaderValue = string | number | string[];

/** What Express and Fastify have in common of a response; `raw` is Fastify's alone. */
interface HttpResponse extends EventEmitter {
  readonly statusCode: number;
  getHeaders(): Record<string, HeaderValue | undefined>;
  readonly raw?: EventEmitter;
}

/** The route as it was declared, such as `/orders/:id`. */
export function routeOf({ route, routeOptions }: HttpRequest): string {
  return route?.path ?? routeOptions?.url ?? '';
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

  /** A copy; names are in lower case. */
  headers(): Record<string, HeaderValue | undefined> {
    return this.#response.getHeaders();
  }

  /** Empty when it is not set. */
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

  /** Calls back when the client has left or been answered. Returns a function that stops listening. */
  onClose(callback: () => void): () => void {
    const response = this.#response.raw ?? this.#response;
    response.once('close', callback);
    return () => response.off('close', callback);
  }
}
