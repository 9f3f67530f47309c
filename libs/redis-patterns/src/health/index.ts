export { RedisPatternsHealthIndicator } from './nest/redis-patterns.health.js';
export type { HealthCheckOptions } from './health.options.js';
export type { ConnectionHealth, HealthReport, HealthStatus } from './health-report.js';
