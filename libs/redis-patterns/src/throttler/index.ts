export { AtomicThrottlerGuard } from './nest/atomic-throttler.guard.js';
export { RedisThrottlerModule } from './nest/redis-throttler.module.js';
export { RedisThrottlerStorage } from './redis-throttler-storage.js';
export type { ThrottlerHit, ThrottlerRecord } from './throttler.types.js';
