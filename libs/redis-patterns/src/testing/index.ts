export { InMemoryRedis } from './in-memory-redis.js';
export { recordingFake, type RecordedCall } from './recording-fake.js';
export { startTestRedis, type TestRedis, type TestRedisOptions } from './test-redis.js';
export { RedisPatternsTestingModule, withInMemoryRedis, type RedisPatternsTestingOptions } from './testing.module.js';
