import type { TelemetryPayload } from '../events.js';
import type { GaugeSample } from '../gauges.js';
import { TelemetryListener } from '../listening.js';
import type { TracedOperation } from '../operation.js';
import type { Telemetry } from '../telemetry.js';
import { BoundedLabels } from './bounded-labels.js';
import type { MetricOf } from './table.js';

type Labels = Readonly<Record<string, string>>;

/** Where measurements go. */
export interface MetricSink {
  count(name: MetricOf<'counter'>, labels: Labels, by?: number): void;
  /** @param value in the unit of the metric */
  observe(name: MetricOf<'histogram'>, labels: Labels, value: number): void;
}

/** Patterns whose calls are counted by method and outcome. */
type PlainPattern = 'session' | 'token' | 'leaderboard' | 'counting' | 'feed';

/** Milliseconds after which what was said of a group says nothing any more: its reader looks every 15 s. */
const LAG_TTL = 60_000;

/** Turns what one application tells into measurements. Sends no command: what is read at a scrape is in this process already. */
export class MetricRecorder {
  readonly #listener: TelemetryListener;
  readonly #labels = new BoundedLabels();
  readonly #lags = new Map<string, { readonly event: TelemetryPayload<'lag'>; readonly at: number }>();

  constructor(
    private readonly telemetry: Telemetry,
    private readonly sink: MetricSink,
    onError: (error: unknown) => void,
  ) {
    this.#listener = new TelemetryListener(telemetry.app, onError);
  }

  start(): void {
    this.#listener
      .onOperation((operation) => this.#operation(operation))
      .on('command', ({ connection, role, outcome, code }) =>
        this.sink.count('commands_failed_total', { connection, role, outcome, code }),
      )
      .on('connection', ({ connection, role, from, to }) => {
        if (from === 'ready' && to === 'close') this.sink.count('connections_lost_total', { connection, role });
      })
      .on('breaker', ({ connection, state }) => {
        if (state === 'open') this.sink.count('breaker_opened_total', { connection });
      })
      .on('gap', ({ connection, kind, durationMs }) => {
        this.sink.count('gaps_total', { connection, kind });
        this.sink.observe('gap_seconds', { connection, kind }, durationMs / 1000);
      })
      .on('lock-lost', ({ connection, kind, name, reason }) =>
        this.sink.count('lock_lost_total', { connection, kind, name: this.#labels.of('name', name), reason }),
      )
      .on('cache-value', ({ connection, name, bytes }) =>
        this.sink.observe('cache_value_bytes', { connection, name: this.#labels.of('name', name) }, bytes),
      )
      .on('subscription-gap', ({ connection, subscription, reason }) =>
        this.sink.count('pubsub_gaps_total', { connection, name: this.#labels.of('name', subscription), reason }),
      )
      .on('dead-letter', ({ connection, stream, group, reason }) =>
        this.sink.count('stream_dead_letters_total', { connection, ...this.#group(stream, group), reason }),
      )
      .on('lag', (event) => {
        const { stream, group } = this.#group(event.stream, event.group);
        this.#lags.set(`${event.connection} ${stream} ${group}`, {
          event: { ...event, stream, group },
          at: performance.now(),
        });
      });
  }

  close(): void {
    this.#listener.close();
  }

  /** What a gauge has now. What nobody knows has no sample. */
  read(name: MetricOf<'gauge'>): GaugeSample[] {
    switch (name) {
      case 'stream_lag_entries':
        return this.#ofLags(({ lag }) => lag);
      case 'stream_pending_entries':
        return this.#ofLags(({ pending }) => pending);
      case 'stream_oldest_pending_seconds':
        return this.#ofLags(({ oldestMs }) => oldestMs / 1000);
      case 'stream_inflight':
        return this.#ofLags(({ inFlight }) => inFlight);
      default:
        return this.telemetry.gauges.read(name);
    }
  }

  #ofLags(valueOf: (event: TelemetryPayload<'lag'>) => number | undefined): GaugeSample[] {
    const now = performance.now();
    return [...this.#lags.values()].flatMap(({ event, at }) => {
      const value = valueOf(event);
      if (value === undefined || now - at > LAG_TTL) return [];
      const { connection, stream, group } = event;
      return [{ labels: { connection, stream, group }, value }];
    });
  }

  #group(stream: string, group: string): { stream: string; group: string } {
    return { stream: this.#labels.of('stream', stream), group: this.#labels.of('group', group) };
  }

  #operation(operation: TracedOperation): void {
    switch (operation.pattern) {
      case 'cache':
        return this.#cache(operation);
      case 'ratelimit':
        return this.#rateLimit(operation);
      case 'lock':
        return this.#lock(operation);
      case 'idempotency': {
        const { connection, outcome = '' } = operation;
        return this.sink.count('idempotency_total', { connection, name: this.#nameOf(operation), outcome });
      }
      case 'stream':
        return this.#stream(operation);
      case 'pubsub':
        return this.#pubsub(operation);
      case 'throttler':
        return this.#throttler(operation);
      case 'session':
      case 'token':
      case 'leaderboard':
      case 'counting':
      case 'feed':
        return this.#plain(operation, operation.pattern);
    }
  }

  #cache(operation: TracedOperation): void {
    const { connection, operation: what, outcome = '', source = 'redis' } = operation;
    const name = this.#nameOf(operation);
    if (what === 'get') return this.sink.count('cache_requests_total', { connection, name, tier: source, outcome });
    if (what === 'load')
      return this.sink.observe('cache_load_seconds', { connection, name, outcome }, secondsOf(operation));
    if (what !== 'get-many')
      return this.sink.count('cache_invalidations_total', { connection, operation: what, outcome });
    for (const [found, count] of Object.entries(operation.counts ?? {})) {
      const tier = found === 'miss' || found === 'bypass' ? 'load' : 'redis';
      this.sink.count('cache_requests_total', { connection, name, tier, outcome: found }, count);
    }
  }

  #rateLimit(operation: TracedOperation): void {
    const { connection, source = 'redis', operation: what, decisions = [] } = operation;
    this.sink.observe('ratelimit_seconds', { connection, source }, secondsOf(operation));
    if (what === 'peek') return;
    for (const decision of decisions) {
      const policy = this.#labels.of('policy', decision.policy);
      this.sink.count('ratelimit_decisions_total', { connection, policy, source, outcome: decision.outcome });
    }
  }

  #lock(operation: TracedOperation): void {
    const { connection, operation: what, outcome = '', source: kind = 'lock' } = operation;
    const name = this.#nameOf(operation);
    if (what === 'run-once') return this.sink.count('runonce_total', { connection, name, outcome });
    if (what === 'held')
      return this.sink.observe('lock_held_seconds', { connection, kind, name }, secondsOf(operation));
    this.sink.count('lock_acquire_total', { connection, kind, name, outcome });
    this.sink.observe('lock_wait_seconds', { connection, kind, name, outcome }, secondsOf(operation));
  }

  #stream(operation: TracedOperation): void {
    const { connection, outcome = '', operation: what } = operation;
    const { stream, group } = this.#group(operation.stream ?? '', operation.group ?? '');
    if (what === 'publish') {
      this.sink.count('stream_published_total', { connection, stream, outcome });
      return this.sink.observe('stream_publish_seconds', { connection, stream, outcome }, secondsOf(operation));
    }
    if (what !== 'process') return;
    for (const [became, count] of Object.entries(operation.counts ?? { [outcome]: 1 })) {
      this.sink.count('stream_processed_total', { connection, stream, group, outcome: became }, count);
    }
    this.sink.observe('stream_process_seconds', { connection, stream, group, outcome }, secondsOf(operation));
  }

  #pubsub(operation: TracedOperation): void {
    const { connection, outcome = '', operation: what } = operation;
    if (what === 'publish') {
      this.sink.count('pubsub_published_total', { connection, outcome });
      return this.sink.observe('pubsub_publish_seconds', { connection, outcome }, secondsOf(operation));
    }
    const name = this.#nameOf(operation);
    this.sink.count('pubsub_messages_total', { connection, name, outcome });
    this.sink.observe('pubsub_process_seconds', { connection, name, outcome }, secondsOf(operation));
  }

  #throttler(operation: TracedOperation): void {
    const { connection, source = 'redis', decisions = [] } = operation;
    this.sink.observe('throttler_seconds', { connection, source }, secondsOf(operation));
    for (const { policy, outcome } of decisions) {
      const name = this.#labels.of('policy', policy);
      this.sink.count('throttler_decisions_total', { connection, name, source, outcome });
    }
  }

  #plain(operation: TracedOperation, pattern: PlainPattern): void {
    const { connection, outcome = '' } = operation;
    const name = this.#nameOf(operation);
    this.sink.count(`${pattern}_operations_total`, { connection, name, outcome });
    this.sink.observe('operation_seconds', { connection, pattern, name }, secondsOf(operation));
  }

  #nameOf({ name }: TracedOperation): string {
    return this.#labels.of('name', name);
  }
}

function secondsOf({ elapsedMs = 0 }: TracedOperation): number {
  return elapsedMs / 1000;
}
