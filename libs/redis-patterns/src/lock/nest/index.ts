export { lockPart } from './module-part.js';
export { RunOnce, type RunOnceMethodOptions } from './run-once.js';
export { WithLock, type WithLockOptions } from './with-lock.js';
