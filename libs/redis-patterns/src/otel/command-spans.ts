import { tracingChannel, type TracingChannelSubscribers } from 'node:diagnostics_channel';
import { SpanKind, SpanStatusCode, type Attributes, type Histogram, type Span, type Tracer } from '@opentelemetry/api';
import { SCRIPT_NAMES } from './scripts.js';
import type { Spans } from './spans.js';

/** What ioredis tells of a command or a transaction. Its `args` are partly in clear: of them only the hash of a script is looked at. */
interface CommandMessage {
  readonly command?: string;
  readonly args?: readonly unknown[];
  readonly batchMode?: string;
  readonly batchSize?: number;
  readonly database?: number;
  readonly serverAddress?: string;
  readonly serverPort?: number;
  readonly error?: unknown;
}

interface Running {
  readonly span: Span;
  readonly attributes: Attributes;
  readonly startedAt: number;
}

/** Held for as long as the process runs: see the channels of our telemetry. */
const CHANNELS = [tracingChannel<CommandMessage>('ioredis:command'), tracingChannel<CommandMessage>('ioredis:batch')];

/**
 * A span for each command below a span of ours, by the database conventions of OpenTelemetry. Other commands of the process, such as
 * those of another application, have none.
 */
export class CommandSpans {
  readonly #running = new WeakMap<object, Running>();
  readonly #subscribers: TracingChannelSubscribers<CommandMessage>;

  constructor(
    private readonly tracer: Tracer,
    private readonly duration: Histogram | undefined,
    private readonly spans: Spans,
    private readonly onError: (error: unknown) => void,
  ) {
    const nothing = (): void => undefined;
    this.#subscribers = {
      start: this.#safe((message) => this.#start(message)),
      end: nothing,
      asyncStart: nothing,
      asyncEnd: this.#safe((message) => this.#end(message)),
      error: nothing,
    };
  }

  start(): void {
    for (const channel of CHANNELS) channel.subscribe(this.#subscribers);
  }

  close(): void {
    for (const channel of CHANNELS) channel.unsubscribe(this.#subscribers);
  }

  #start(message: CommandMessage): void {
    if (!this.spans.isInside()) return;
    const name = (message.command ?? message.batchMode ?? 'BATCH').toUpperCase();
    const attributes: Attributes = { 'db.system.name': 'redis', 'db.operation.name': name };
    if (message.database !== undefined) attributes['db.namespace'] = String(message.database);
    if (message.serverAddress !== undefined) attributes['server.address'] = message.serverAddress;
    if (message.serverPort !== undefined) attributes['server.port'] = message.serverPort;
    if (message.batchSize !== undefined) attributes['db.operation.batch.size'] = message.batchSize;
    const script = name === 'EVALSHA' ? SCRIPT_NAMES.get(String(message.args?.[0])) : undefined;
    if (script !== undefined) attributes['db.stored_procedure.name'] = script;
    const span = this.tracer.startSpan(name, { kind: SpanKind.CLIENT, attributes });
    this.#running.set(message, { span, attributes, startedAt: performance.now() });
  }

  #end(message: CommandMessage): void {
    const running = this.#running.get(message);
    if (running === undefined) return;
    const { span, startedAt } = running;
    let { attributes } = running;
    if (message.error !== undefined) {
      const [status] = /^[A-Z]+(?= )/.exec((message.error as Error).message ?? '') ?? [];
      const type = status ?? (message.error as Error).name ?? 'Error';
      const failure = { 'error.type': type, ...(status === undefined ? {} : { 'db.response.status_code': status }) };
      attributes = { ...attributes, ...failure };
      span.setAttributes(failure).setStatus({ code: SpanStatusCode.ERROR });
    }
    span.end();
    this.duration?.record((performance.now() - startedAt) / 1000, attributes);
  }

  /** Node ends the process for a subscriber that throws. */
  #safe(listener: (message: CommandMessage) => void): (message: CommandMessage) => void {
    return (message) => {
      try {
        listener(message);
      } catch (error) {
        this.onError(error);
      }
    };
  }
}
