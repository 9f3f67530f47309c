export { ForeignSessions, type KnownSession } from './foreign-sessions.js';
export { SessionCookie } from './session-cookie.js';
export {
  SessionConflictError,
  SessionRevokedError,
  SessionTooLargeError,
  SessionUnavailableError,
} from './session.errors.js';
export type {
  ResolvedSessionOptions,
  SessionCookieOptions,
  SessionCreateOptions,
  SessionOptions,
  SessionRotateOptions,
} from './session.options.js';
export { SessionService } from './session.service.js';
export { newSessionId } from './session-id.js';
export type { Session, SessionPatch } from './session.js';
