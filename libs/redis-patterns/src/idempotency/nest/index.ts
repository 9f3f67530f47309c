export { IdempotencyHttpException, type IdempotencyProblem } from './idempotency-http.exception.js';
export { Idempotent } from './idempotent.js';
export type { IdempotencyScope, IdempotentHandlerOptions } from './handler/handler.options.js';
export type { IdempotentMethodOptions } from './method-run.js';
export { idempotencyPart } from './module-part.js';
