import type { PatternPart } from '../../nest/pattern-part.js';
import { SessionCookie, SessionService, type ResolvedSessionOptions } from '../index.js';
import { resolveSessionOptions } from '../session.options.js';

/** What sessions add to the module. */
export const sessionPart: PatternPart<ResolvedSessionOptions> = {
  option: 'session',
  keeps: 'durable',
  resolve: resolveSessionOptions,
  services: [
    { token: SessionService, create: (context, options) => new SessionService(context, options) },
    { token: SessionCookie, create: (_, { cookie }) => new SessionCookie(cookie) },
  ],
  decorators: [],
};
