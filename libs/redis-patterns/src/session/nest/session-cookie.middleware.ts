import { Inject, Injectable, type NestMiddleware } from '@nestjs/common';
import { SessionCookie, SessionService } from '../index.js';
import { RequestSession } from './request-session.js';

/**
 * Lets `@CurrentSession()` work on handlers without {@link SessionGuard}. Redis is asked when a handler first wants the session, not
 * before.
 *
 * @example
 * ```ts
 * export class AppModule implements NestModule {
 *   configure(consumer: MiddlewareConsumer): void {
 *     consumer.apply(SessionCookieMiddleware).forRoutes('*');
 *   }
 * }
 * ```
 */
@Injectable()
export class SessionCookieMiddleware implements NestMiddleware {
  constructor(
    @Inject(SessionService) private readonly sessions: SessionService,
    @Inject(SessionCookie) private readonly cookie: SessionCookie,
  ) {}

  use(request: object, _response: unknown, next: () => void): void {
    RequestSession.hold(request, this.sessions, this.cookie);
    next();
  }
}
