import { channel, type Channel } from 'node:diagnostics_channel';

/** Payload of each channel `redis-patterns:<name>`. No key, value, argument, URL or user is ever part of one. */
export interface TelemetryEvents {
  /** A socket changed its state. */
  connection: { connection: string; role: string; from: string; to: string; reason?: string };
  /** A call that did not end well. */
  command: {
    connection: string;
    operation: string;
    outcome: string;
    code: string;
    reply?: string;
    elapsedMs: number;
    eventLoopDelayMs: number;
  };
  /** Calls are kept from a server that does not answer (`open`), or are let through again. */
  breaker: { connection: string; node: string; state: 'open' | 'closed' };
  /** Messages of a pub/sub subscription may be missing; `ms` is how long the time is in which they were published. */
  gap: { subscription: string; reason: string; ms: number; missed?: number };
  /** Something that works, but that somebody should look at. */
  warning: { pattern: string; code: string; message: string };
  /** Something that went wrong where no caller could be told. */
  error: { pattern: string; code: string; message: string; error?: unknown };
}

/**
 * Held for as long as the process runs. Node forgets a channel that nobody holds; if one of the same name is made before that is
 * cleaned up, Node 20 forgets the new one as well, and what is published no longer reaches its subscribers.
 */
const CHANNELS: Readonly<Record<keyof TelemetryEvents, Channel>> = {
  connection: channel('redis-patterns:connection'),
  command: channel('redis-patterns:command'),
  breaker: channel('redis-patterns:breaker'),
  gap: channel('redis-patterns:gap'),
  warning: channel('redis-patterns:warning'),
  error: channel('redis-patterns:error'),
};

export type TelemetryPayload<Name extends keyof TelemetryEvents> = TelemetryEvents[Name] & { readonly app: string };

export function telemetryChannel(name: keyof TelemetryEvents): string {
  return String(CHANNELS[name].name);
}

/**
 * What engines tell the world, over `node:diagnostics_channel`; the logger and other sinks subscribe and filter by `app`,
 * so that two applications in one process never see each other's events.
 */
export class Telemetry {
  constructor(readonly app: string) {}

  emit<Name extends keyof TelemetryEvents>(name: Name, payload: TelemetryEvents[Name]): void {
    const target = CHANNELS[name];
    if (target.hasSubscribers) target.publish({ ...payload, app: this.app });
  }
}
