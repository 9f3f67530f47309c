import { context, createTraceState, isSpanContextValid, trace, type SpanContext } from '@opentelemetry/api';
import type { TraceCarrier } from '../telemetry/index.js';

/** W3C Trace Context, version 00: trace id, span id, flags. Later versions begin the same. */
const TRACEPARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-|$)/;

/** The active span as headers (W3C Trace Context), whatever propagator the application has for other protocols. */
export function activeCarrier(): TraceCarrier {
  const active = trace.getSpanContext(context.active());
  if (active === undefined || !isSpanContextValid(active)) return {};
  const { traceId, spanId, traceFlags, traceState } = active;
  const traceparent = `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
  const tracestate = traceState?.serialize();
  return tracestate ? { traceparent, tracestate } : { traceparent };
}

/** The span of whoever sent these headers; `undefined` without, and for what is none. */
export function remoteSpan({ traceparent, tracestate }: TraceCarrier): SpanContext | undefined {
  const [, traceId, spanId, flags] = TRACEPARENT.exec(traceparent ?? '') ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  const remote: SpanContext = {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16) & 1,
    isRemote: true,
    ...(tracestate === undefined ? {} : { traceState: createTraceState(tracestate) }),
  };
  return isSpanContextValid(remote) ? remote : undefined;
}
