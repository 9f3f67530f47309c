import type { EngineContext } from '../connection/index.js';
import type { PatternTracer, TracedOperation } from '../telemetry/index.js';
import type { Prepared } from './reader/preparation.js';
import type { ReaderScope } from './reader/scope.js';
import type { Decision, Settlement } from './stream-context.js';
import { StreamDrainedError, UnrecoverableMessageError } from './stream.errors.js';

const OUTCOMES: Readonly<Record<Settlement | 'timeout', string>> = {
  ack: 'ack',
  commit: 'ack',
  retry: 'retry',
  timeout: 'retry',
  deadLetter: 'dead_letter',
};

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
  readonly prepared: Prepared;
  readonly decision: Decision;
}

/** Runs a handler, and tells what becomes of its message. */
export function traceHandler(tracer: PatternTracer, run: HandlerRun, handle: () => unknown): unknown {
  const { scope, prepared } = run;
  const { entry, route, message, headers } = prepared;
  const { traceparent, tracestate } = headers;
  const facts = {
    operation: 'process',
    name: route.name,
    stream: scope.stream,
    group: scope.group,
    messageId: message.messageId ?? entry.originalId,
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

/** What is known of several messages when their handler begins. */
export interface BatchRun {
  readonly scope: ReaderScope;
  readonly batch: readonly Prepared[];
  readonly decisions: readonly Decision[];
}

/** The same as {@link traceHandler} for messages that are handled together: one operation, which counts what became of each. */
export function traceBatch(
  tracer: PatternTracer,
  { scope, batch, decisions }: BatchRun,
  handle: () => unknown,
): unknown {
  const facts = {
    operation: 'process',
    name: batch[0]!.route.name,
    stream: scope.stream,
    group: scope.group,
    batchSize: batch.length,
    carriers: batch.map(({ headers: { traceparent, tracestate } }) => ({ traceparent, tracestate })),
  };
  const runs = batch.map((prepared, index) => ({ scope, prepared, decision: decisions[index]! }));
  const conclude = (operation: TracedOperation, become: (run: HandlerRun) => string): string => {
    const counts: Record<string, number> = {};
    for (const run of runs) {
      const outcome = run.prepared.entry.lost ? 'lost' : become(run);
      counts[outcome] = (counts[outcome] ?? 0) + 1;
    }
    operation.counts = counts;
    const [first, ...others] = Object.keys(counts);
    return others.length === 0 ? first! : 'mixed';
  };
  return tracer.run(facts, handle, {
    ended: (_, operation) => (operation.outcome = conclude(operation, outcomeOf)),
    failed: (error, operation) =>
      conclude(operation, (run) => outcomeOfError(run, error, run.prepared.entry.failures + 1)),
  });
}

function outcomeOf({ decision, prepared: { route, entry } }: HandlerRun): string {
  const { settled = 'ack' } = decision;
  return settled === 'retry' && entry.failures + 1 >= route.options.retry.attempts ? 'dead_letter' : OUTCOMES[settled];
}

function outcomeOfError(
  { decision, prepared: { route, entry } }: HandlerRun,
  error: unknown,
  attempts: number,
): string {
  const { settled } = decision;
  if (settled !== undefined && settled !== 'retry' && settled !== 'timeout') return OUTCOMES[settled];
  if (entry.abortReason instanceof StreamDrainedError) return 'aborted';
  if (error instanceof UnrecoverableMessageError) return 'dead_letter';
  return attempts >= route.options.retry.attempts ? 'dead_letter' : 'retry';
}
