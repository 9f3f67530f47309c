export { CurrentSession } from './current-session.js';
export { sessionPart } from './module-part.js';
export { SessionCookieMiddleware } from './session-cookie.middleware.js';
export { SessionGuard } from './session.guard.js';
