import type { ResolvedSessionCookieOptions } from './session.options.js';

/** A request of Express, Fastify or Node. */
export interface CookieRequest {
  readonly headers: { readonly cookie?: string | undefined };
}

/** A response of Express or Node, or a reply of Fastify. */
export type CookieResponse =
  { appendHeader(name: string, value: string): unknown } | { header(name: string, value: string): unknown };

/**
 * The cookie that carries the id of a session, for Express and Fastify alike. How it looks is said by `session.cookie`; it is always
 * `HttpOnly`.
 *
 * @example
 * ```ts
 * @Post('login')
 * async login(@Body() form: LoginForm, @Res({ passthrough: true }) res: Response): Promise<void> {
 *   const user = await this.users.check(form);
 *   const { id } = await this.sessions.create({}, { principal: user.id });
 *   this.cookie.set(res, id);
 * }
 * ```
 */
export class SessionCookie {
  readonly #name: string;
  readonly #attributes: string;
  readonly #maxAge: string;

  constructor({ name, secure, sameSite, path, domain, maxAge }: ResolvedSessionCookieOptions) {
    const site = { lax: 'Lax', strict: 'Strict', none: 'None' }[sameSite];
    this.#name = name;
    this.#attributes = `; Path=${path}${domain === undefined ? '' : `; Domain=${domain}`}; HttpOnly${secure ? '; Secure' : ''}; SameSite=${site}`;
    this.#maxAge = maxAge === undefined ? '' : `; Max-Age=${Math.floor(maxAge / 1000)}`;
  }

  /** The id that the client sent, as it is; `undefined` when it sent none. */
  get(request: CookieRequest): string | undefined {
    const { cookie } = request.headers;
    if (cookie === undefined) return undefined;
    for (const pair of cookie.split(';')) {
      const at = pair.indexOf('=');
      if (at !== -1 && pair.slice(0, at).trim() === this.#name) return pair.slice(at + 1).trim();
    }
    return undefined;
  }

  /** Sends an id to the client: after `create`, and after a `rotate` that has `rotated`. */
  set(response: CookieResponse, id: string): void {
    append(response, `${this.#name}=${id}${this.#attributes}${this.#maxAge}`);
  }

  /** Has the client forget the id. It does not end the session: `destroy` does. */
  clear(response: CookieResponse): void {
    append(response, `${this.#name}=${this.#attributes}; Max-Age=0`);
  }
}

function append(response: CookieResponse, cookie: string): void {
  // Express takes its responses from Node, which appends; the `header` of Fastify appends this one header by itself.
  if ('appendHeader' in response) response.appendHeader('Set-Cookie', cookie);
  else response.header('Set-Cookie', cookie);
}
