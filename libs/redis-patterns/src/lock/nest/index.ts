export { lockPart } from './module-part.js';
export { WithLock, type WithLockOptions } from './with-lock.js';
