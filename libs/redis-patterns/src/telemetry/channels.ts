import { channel, tracingChannel, type Channel, type TracingChannel } from 'node:diagnostics_channel';
import type { TelemetryEvents } from './events.js';
import { TRACED_PATTERNS, type TracedOperation, type TracedPattern } from './operation.js';

/**
 * Channels are held for as long as the process runs. Node forgets a channel that nobody holds; if one of the same name is made before
 * that is cleaned up, Node 20 forgets the new one as well, and what is published no longer reaches its subscribers.
 */
export const EVENTS: Readonly<Record<keyof TelemetryEvents, Channel>> = {
  connection: channel('redis-patterns:connection'),
  command: channel('redis-patterns:command'),
  breaker: channel('redis-patterns:breaker'),
  gap: channel('redis-patterns:gap'),
  'lock-lost': channel('redis-patterns:lock-lost'),
  'dead-letter': channel('redis-patterns:dead-letter'),
  lag: channel('redis-patterns:lag'),
  'cache-value': channel('redis-patterns:cache-value'),
  'subscription-gap': channel('redis-patterns:subscription-gap'),
  warning: channel('redis-patterns:warning'),
  error: channel('redis-patterns:error'),
};

/** One for each pattern; `asyncEnd` comes exactly once for each operation, also for one that failed. */
export const OPERATIONS = Object.fromEntries(
  TRACED_PATTERNS.map((pattern) => [pattern, tracingChannel(`redis-patterns:${pattern}`)]),
) as unknown as Readonly<Record<TracedPattern, TracingChannel<string, TracedOperation>>>;

export function telemetryChannel(name: keyof TelemetryEvents): string {
  return String(EVENTS[name].name);
}
