export { RedisPatternsMetricsModule } from './nest/metrics.module.js';
export type { MetricsOptions } from './metrics.options.js';
