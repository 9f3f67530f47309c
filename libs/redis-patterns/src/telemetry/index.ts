export { Telemetry, telemetryChannel, type TelemetryEvents, type TelemetryPayload } from './telemetry.js';
