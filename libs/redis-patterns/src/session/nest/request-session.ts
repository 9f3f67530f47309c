import type { ExecutionContext } from '@nestjs/common';
import { NotBoundError } from '../../core/errors.js';
import type { Session, SessionCookie, SessionService } from '../index.js';

/** Property of a request of Node: what Express and Fastify, middleware and handlers, have in common. */
const HELD = Symbol.for('nestjs-redis-patterns:request-session');

interface RawRequest {
  readonly headers: { readonly cookie?: string };
  [HELD]?: RequestSession;
}

/** The session of one request, read once, when somebody first asks for it. */
export class RequestSession {
  #session: Promise<Session | undefined> | undefined;

  private constructor(
    private readonly sessions: SessionService,
    private readonly id: string | undefined,
  ) {}

  /** That of a request, which keeps it. */
  static hold(request: object, sessions: SessionService, cookie: SessionCookie): RequestSession {
    const raw = rawOf(request);
    return (raw[HELD] ??= new RequestSession(sessions, cookie.get(raw)));
  }

  /** @throws NotBoundError when nothing holds one */
  static of(context: ExecutionContext): RequestSession {
    const held = context.getType() === 'http' ? rawOf(context.switchToHttp().getRequest<object>())[HELD] : undefined;
    if (held !== undefined) return held;
    throw new NotBoundError(
      `${context.getClass().name}.${context.getHandler().name} takes @CurrentSession(), but nothing reads sessions for its requests: ` +
        'write @UseGuards(SessionGuard), or apply SessionCookieMiddleware to its route. It is for HTTP handlers.',
    );
  }

  /** @throws SessionUnavailableError */
  load(): Promise<Session | undefined> {
    this.#session ??= this.id === undefined ? Promise.resolve(undefined) : this.sessions.get(this.id);
    return this.#session;
  }
}

function rawOf(request: object): RawRequest {
  return ((request as { raw?: object }).raw ?? request) as RawRequest;
}
