import { context, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
  type ReadableSpan,
} from '@opentelemetry/sdk-trace-base';

/** OpenTelemetry as an application sets it up, with its spans in memory. */
export class RecordedSpans {
  readonly #exporter = new InMemorySpanExporter();
  readonly #provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(this.#exporter)] });

  install(): void {
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    trace.setGlobalTracerProvider(this.#provider);
  }

  async remove(): Promise<void> {
    await this.#provider.shutdown();
    trace.disable();
    context.disable();
  }

  get all(): ReadableSpan[] {
    return this.#exporter.getFinishedSpans();
  }

  forget(): void {
    this.#exporter.reset();
  }

  /** The only span of that name. */
  one(name: string): ReadableSpan {
    const found = this.all.filter((span) => span.name === name);
    if (found.length !== 1) throw new Error(`${found.length} spans '${name}' among ${this.names().join(', ')}`);
    return found[0]!;
  }

  names(): string[] {
    return this.all.map(({ name }) => name);
  }

  /** The names from the root down to this one. */
  path(span: ReadableSpan): string[] {
    const parent = this.all.find((other) => other.spanContext().spanId === span.parentSpanContext?.spanId);
    return [...(parent === undefined ? [] : this.path(parent)), span.name];
  }
}
