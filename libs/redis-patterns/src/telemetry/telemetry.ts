import { channel } from 'node:diagnostics_channel';

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
  /** Something that works, but that somebody should look at. */
  warning: { pattern: string; code: string; message: string };
  /** Something that went wrong where no caller could be told. */
  error: { pattern: string; code: string; message: string; error?: unknown };
}

export type TelemetryPayload<Name extends keyof TelemetryEvents> = TelemetryEvents[Name] & { readonly app: string };

export function telemetryChannel(name: keyof TelemetryEvents): string {
  return `redis-patterns:${name}`;
}

/**
 * What engines tell the world, over `node:diagnostics_channel`; the logger and other sinks subscribe and filter by `app`,
 * so that two applications in one process never see each other's events.
 */
export class Telemetry {
  constructor(readonly app: string) {}

  emit<Name extends keyof TelemetryEvents>(name: Name, payload: TelemetryEvents[Name]): void {
    const target = channel(telemetryChannel(name));
    if (target.hasSubscribers) target.publish({ ...payload, app: this.app });
  }
}
