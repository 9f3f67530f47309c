export { LockHandle } from './lock-handle.js';
export {
  LockLostError,
  LockReentryError,
  LockTimeoutError,
  LockUnavailableError,
  type LockLostReason,
} from './lock.errors.js';
export type { LockCallOptions, LockOptions, LockUsingOptions } from './lock.options.js';
export { LockService, type LockInfo } from './lock.service.js';
