export { onAbort, raceSignal, sleep } from './abort.js';
export { backoffBound, backoffDelay, type BackoffOptions } from './backoff.js';
export { Deadline } from './deadline.js';
export { durationMessage, formatDuration, parseDuration, toMilliseconds, type Duration } from './duration.js';
export { InvalidOptionsError, NotBoundError, RedisPatternsError, type ErrorCode, type OptionIssue } from './errors.js';
export { closest, deepFreeze, durationSchema, parseOptions } from './options.js';
export { principalSchema } from './principal-schema.js';
export { SingleFlight } from './single-flight.js';
export { startTimer, type Timer } from './timer.js';
