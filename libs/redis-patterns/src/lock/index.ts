export {
  LockLostError,
  LockReentryError,
  LockTimeoutError,
  LockUnavailableError,
  type LockLostReason,
} from './lock.errors.js';
export type { LockHandle } from './lock-handle.js';
export {
  resolveLockOptions,
  type LockCallOptions,
  type LockOptions,
  type LockUsingOptions,
  type ResolvedLockOptions,
} from './lock.options.js';
export { LockService, type LockInspection } from './lock.service.js';
