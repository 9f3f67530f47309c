import type { EngineContext } from '../connection/index.js';
import type { PatternTracer } from '../telemetry/index.js';
import type { HeldEntry } from './reader/held.js';
import type { Route } from './reader/routes.js';
import type { ReaderScope } from './reader/scope.js';
import type { RawMessage } from './message.js';
import type { Decision, Settlement } from './stream-context.js';
import { UnrecoverableMessageError } from './stream.errors.js';

const OUTCOMES: Readonly<Record<Settlement, string>> = { ack: 'ack', retry: 'retry', deadLetter: 'dead_letter' };

/** Tells what is published, by the name of the stream. */
export class PublishTracer {
  readonly #tracer: PatternTracer;

  constructor({ telemetry, connection }: EngineContext) {
    this.#tracer = telemetry.tracer('stream', connection.name);
  }

  /** @param publish writes the message, with the trace context of where it runs */
  publish(stream: string, publish: () => Promise<string>): Promise<string> {
    if (!this.#tracer.active) return publish();
    return this.#tracer.run({ operation: 'publish', name: stream, stream }, publish, {
      ended: (_, operation) => (operation.outcome = 'published'),
    });
  }
}

/** What is known of a message when its handler begins. */
export interface HandlerRun {
  readonly scope: ReaderScope;
  readonly entry: HeldEntry;
  readonly route: Route;
  readonly message: RawMessage;
  readonly decision: Decision;
  readonly headers: Readonly<Record<string, string>>;
}

/** Runs a handler, and tells what becomes of its message. */
export function traceHandler(run: HandlerRun, handle: () => unknown): unknown {
  const { scope, entry, route, message, headers } = run;
  const { telemetry, connection } = scope.context;
  const tracer = telemetry.tracer('stream', connection.name);
  if (!tracer.active) return handle();
  const { traceparent, tracestate } = headers;
  const facts = {
    operation: 'process',
    name: route.name,
    stream: scope.stream,
    group: scope.group,
    messageId: message.messageId ?? entry.id,
    carrier: { traceparent, tracestate },
  };
  const attempts = entry.failures + 1;
  return tracer.run(facts, handle, {
    ended: (_, operation) => {
      operation.attempts = attempts;
      operation.outcome = entry.lost ? 'lost' : outcomeOf(run);
    },
    failed: (error, operation) => {
      operation.attempts = attempts;
      return entry.lost ? 'lost' : outcomeOfError(run, error, attempts);
    },
  });
}

function outcomeOf({ decision, route, entry }: HandlerRun): string {
  const { settled = 'ack' } = decision;
  return settled === 'retry' && entry.failures + 1 >= route.retry.attempts ? 'dead_letter' : OUTCOMES[settled];
}

function outcomeOfError({ decision, route, entry }: HandlerRun, error: unknown, attempts: number): string {
  if (decision.settled === 'ack' || decision.settled === 'deadLetter') return OUTCOMES[decision.settled];
  if (entry.aborted) return 'aborted';
  if (error instanceof UnrecoverableMessageError) return 'dead_letter';
  return attempts >= route.retry.attempts ? 'dead_letter' : 'retry';
}
