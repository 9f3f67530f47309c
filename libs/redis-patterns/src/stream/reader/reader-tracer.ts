import type { OperationFacts, PatternTracer, TraceCarrier } from '../../telemetry/index.js';
import { decodeHeaders, readFields } from '../message.js';
import type { HeldEntry } from './held-entry.js';
import type { ReaderScope } from './scope.js';

/** Tells what the reader of a group was given, and what it acknowledges. */
export class ReaderTracer {
  readonly #tracer: PatternTracer;

  constructor(private readonly scope: ReaderScope) {
    const { telemetry, connection } = scope.context;
    this.#tracer = telemetry.tracer('stream', connection.name);
  }

  /** @param since when it was asked for, on the clock of `performance.now()` */
  received(entries: readonly HeldEntry[], since: number): void {
    if (entries.length > 0 && this.#tracer.active) this.#tracer.tell(this.#facts('receive', entries), since);
  }

  ack<T>(entries: readonly HeldEntry[], send: () => Promise<T>): Promise<T> {
    return this.#tracer.active ? this.#tracer.run(this.#facts('ack', entries), send) : send();
  }

  #facts(operation: string, entries: readonly HeldEntry[]): OperationFacts {
    const { stream, group } = this.scope;
    const batchSize = entries.length;
    return { operation, name: stream, stream, group, batchSize, carriers: entries.map(carrierOf) };
  }
}

/** Where a message comes from; nothing for one that cannot be read. */
function carrierOf({ fields }: HeldEntry): TraceCarrier {
  try {
    const { traceparent, tracestate } = decodeHeaders(readFields(fields).headers);
    return { traceparent, tracestate };
  } catch {
    return {};
  }
}
