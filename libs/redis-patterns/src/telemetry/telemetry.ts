import { EVENTS } from './channels.js';
import type { TelemetryEvents } from './events.js';
import { Gauges } from './gauges.js';
import { Holds } from './holds.js';
import { Loops } from './loops.js';
import type { TracedOperation, TracedPattern } from './operation.js';
import type { TraceCarrier } from './operation.js';
import { PatternTracer } from './tracer.js';

/** Runs an operation inside of something, such as an active span. What it does not run is run without it; it must not wait. */
export type Around = (operation: TracedOperation, run: () => Promise<unknown>) => void;

/**
 * What engines tell the world, over `node:diagnostics_channel`; the logger and other sinks subscribe and filter by `app`,
 * so that two applications in one process never see each other's events.
 */
export class Telemetry {
  /** Set by `nestjs-redis-patterns/otel`. */
  around: Around | undefined;
  /** The trace context to send along with a message; set by `nestjs-redis-patterns/otel`. */
  carrier: (() => TraceCarrier) | undefined;
  /** What can be read at any time, for metrics. */
  readonly gauges = new Gauges();
  /** Loops that should turn, for health answers. */
  readonly loops = new Loops();
  /** Leases of this process, for the doctor. */
  readonly holds = new Holds();

  constructor(readonly app: string) {}

  emit<Name extends keyof TelemetryEvents>(name: Name, payload: TelemetryEvents[Name]): void {
    const target = EVENTS[name];
    if (target.hasSubscribers) target.publish({ ...payload, app: this.app });
  }

  /** Whether anybody listens, for events that cost something to find out. */
  isHeard(name: keyof TelemetryEvents): boolean {
    return EVENTS[name].hasSubscribers;
  }

  tracer(pattern: TracedPattern, connection: string): PatternTracer {
    return new PatternTracer(this, pattern, connection);
  }

  /** Headers of a message with the trace context of the caller. */
  withCarrier(headers: Readonly<Record<string, string>> | undefined): Readonly<Record<string, string>> | undefined {
    if (this.carrier === undefined) return headers;
    try {
      const { traceparent, tracestate } = this.carrier();
      if (traceparent === undefined) return headers;
      return { ...headers, traceparent, ...(tracestate === undefined ? {} : { tracestate }) };
    } catch {
      return headers;
    }
  }
}
