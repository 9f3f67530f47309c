export { telemetryChannel } from './channels.js';
export type { TelemetryEvents, TelemetryPayload } from './events.js';
export type { GaugeName, GaugeSample } from './gauges.js';
export type { Hold } from './holds.js';
export { TelemetryListener } from './listening.js';
export type { WatchedLoop } from './loops.js';
export {
  TRACED_PATTERNS,
  type OperationFacts,
  type TraceCarrier,
  type TracedOperation,
  type TracedPattern,
} from './operation.js';
export { Telemetry, type Around } from './telemetry.js';
export { traceMethods } from './traced-methods.js';
export { plainName, type PatternTracer } from './tracer.js';
