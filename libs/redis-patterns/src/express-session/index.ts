export { RedisSessionStoreModule } from './nest/redis-session-store.module.js';
export { RedisSessionStore, type RedisSessionStoreOptions } from './redis-session-store.js';
