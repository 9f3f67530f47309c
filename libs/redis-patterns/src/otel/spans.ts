import {
  context,
  createContextKey,
  ROOT_CONTEXT,
  SpanStatusCode,
  trace,
  type Context,
  type Link,
  type Span,
  type Tracer,
} from '@opentelemetry/api';
import type { TracedOperation } from '../telemetry/index.js';
import { messagingOf } from './messaging.js';
import { describe, ending } from './span-description.js';
import { remoteSpan } from './trace-context.js';

/** Makes a span for each operation of one application, active while it runs, so that what it calls makes children of it. */
export class Spans {
  /** Marks what runs inside of an operation of this application. */
  readonly #mark = createContextKey('nestjs-redis-patterns');

  constructor(
    private readonly tracer: Tracer,
    private readonly options: { readonly parent: boolean },
    private readonly onError: (error: unknown) => void,
  ) {}

  readonly around = (operation: TracedOperation, run: () => Promise<unknown>): void => {
    const { parent, links } = this.#origin(operation);
    const { name, kind, attributes } = describe(operation);
    // Told when it was over: its begin lies in the past.
    const startTime = operation.elapsedMs === undefined ? undefined : Date.now() - operation.elapsedMs;
    const span = this.tracer.startSpan(name, { kind, attributes, links, startTime }, parent);
    const end = (): void => this.#end(span, operation);
    const inside = trace.setSpan(parent, span).setValue(this.#mark, true);
    void context.with(inside, run).then(end, end);
  };

  /** Whether the calling code runs inside of an operation of this application. */
  isInside(): boolean {
    return context.active().getValue(this.#mark) === true;
  }

  /** A message is run for itself: whatever was active when its reader began has nothing to do with it. */
  #origin(operation: TracedOperation): { parent: Context; links: Link[] } {
    const messaging = messagingOf(operation);
    if (messaging === undefined || messaging.type === 'send') return { parent: context.active(), links: [] };
    const { carrier, carriers = carrier === undefined ? [] : [carrier] } = operation;
    const links = carriers.flatMap((each) => {
      const sender = remoteSpan(each);
      return sender === undefined ? [] : [{ context: sender }];
    });
    const [first] = links;
    // A batch has many senders, and is a part of no trace.
    const isPart = this.options.parent && carrier !== undefined && first !== undefined;
    return { parent: isPart ? trace.setSpanContext(ROOT_CONTEXT, first.context) : ROOT_CONTEXT, links };
  }

  #end(span: Span, operation: TracedOperation): void {
    try {
      const { attributes, isError } = ending(operation);
      span.setAttributes(attributes);
      // Without a message: that of an error may hold anything.
      if (isError) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end();
    } catch (error) {
      this.onError(error);
    }
  }
}
