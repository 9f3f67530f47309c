export type { IdempotencyContext } from './execution.js';
export {
  IdempotencyBusyError,
  IdempotencyKeyError,
  IdempotencyLostError,
  IdempotencyMismatchError,
  IdempotencyRefusedError,
  IdempotencyScopeError,
  IdempotencyUnavailableError,
  IdempotencyUnkeptError,
} from './idempotency.errors.js';
export type { IdempotencyCallOptions, IdempotencyOptions, IdempotencyRunOptions } from './idempotency.options.js';
export { IdempotencyService } from './idempotency.service.js';
