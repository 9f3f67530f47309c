export { Campaign, type CampaignEvent, type CampaignListener } from './leader/campaign.js';
export type { CampaignOptions } from './leader/leader.options.js';
export { LeaderElectionService } from './leader/leader-election.service.js';
export { LeaderTerm } from './leader/leader-term.js';
export { LeaseHandle } from './lease-handle.js';
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
export type { RunOnceOptions, RunSlot } from './run-once/run-once.options.js';
export { RunOnceService } from './run-once/run-once.service.js';
export { PermitHandle } from './semaphore/permit-handle.js';
export type { SemaphoreCallOptions, SemaphoreUsingOptions } from './semaphore/semaphore.options.js';
export { SemaphoreService, type SemaphoreInfo } from './semaphore/semaphore.service.js';
export { ReadHandle, WriteHandle } from './read-write/read-write-handles.js';
export type {
  LockSide,
  ReadWriteLock,
  ReadWriteLockInfo,
  SideCallOptions,
  SideUsingOptions,
} from './read-write/read-write-lock.js';
