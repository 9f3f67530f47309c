export { RedisPatternsOtelModule } from './nest/otel.module.js';
export type { OtelOptions } from './otel.options.js';
