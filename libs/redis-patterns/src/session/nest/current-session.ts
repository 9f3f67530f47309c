import { createParamDecorator } from '@nestjs/common';
import type { Session } from '../index.js';
import { RequestSession } from './request-session.js';

/**
 * The {@link Session} of the request as it was when it was first asked for; `undefined` when there is none, which {@link SessionGuard} rules
 * out. Needs that guard or {@link SessionCookieMiddleware} on the route.
 *
 * @throws NotBoundError without either; SessionUnavailableError (503) when Redis cannot say
 *
 * @example
 * ```ts
 * @Get()
 * home(@CurrentSession() session: Session<Visit> | undefined): string {
 *   return session === undefined ? 'Hello' : `Hello again, ${session.data.name}`;
 * }
 * ```
 */
export const CurrentSession: () => ParameterDecorator = createParamDecorator<undefined>(
  (_, context): Promise<Session | undefined> => RequestSession.of(context).load(),
);
