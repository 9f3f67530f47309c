import { OPERATIONS } from './channels.js';
import type { OperationFacts, TracedOperation, TracedPattern } from './operation.js';
import type { Telemetry } from './telemetry.js';

/** Begins what decorators call themselves in messages: `@Cacheable on ProductService.find`. */
const DECORATOR = /^@\w+ on /;

/** A name as telemetry has it: `ProductService.find`. */
export function plainName(name: string): string {
  return name.replace(DECORATOR, '');
}

/** How an engine says how an operation ended. */
export interface Conclusion<T> {
  /** Fills in `outcome` and the like from the result. */
  readonly ended?: (value: T, operation: TracedOperation) => void;
  /** The outcome of an error that is expected; `undefined`: `'error'`. */
  readonly failed?: (error: unknown, operation: TracedOperation) => string | undefined;
}

/**
 * Tells the operations of one pattern of one application. Look at {@link active} first: while nobody listens it is all that an
 * operation costs.
 *
 * @example
 * ```ts
 * if (!this.tracer.active) return this.take(key);
 * return this.tracer.run({ operation: 'acquire', name }, () => this.take(key), { ended: (taken, op) => (op.outcome = 'acquired') });
 * ```
 */
export class PatternTracer {
  readonly #channels;

  constructor(
    private readonly telemetry: Telemetry,
    private readonly pattern: TracedPattern,
    private readonly connection: string,
  ) {
    this.#channels = OPERATIONS[pattern];
  }

  /** Whether anybody listens. */
  get active(): boolean {
    return this.telemetry.around !== undefined || this.#channels.hasSubscribers;
  }

  /**
   * Runs an operation, and tells its begin and its end. Result, error and order are those of `fn`, whatever the listeners do.
   *
   * @param fn is given the operation, to fill in what it learns
   */
  run<T>(
    facts: OperationFacts,
    fn: (operation: TracedOperation) => Promise<T> | T,
    conclusion: Conclusion<T> = {},
  ): Promise<T> {
    return this.#publish(this.#operation(facts, performance.now()), fn, conclusion);
  }

  /**
   * Tells an operation that is over, such as a read that waited: whether there was anything to tell is known only now.
   *
   * @param startedAt on the clock of `performance.now()`
   */
  tell(facts: OperationFacts, startedAt: number): void {
    const operation = this.#operation(facts, startedAt);
    operation.elapsedMs = performance.now() - startedAt;
    void this.#publish(operation, () => undefined, {});
  }

  #operation(facts: OperationFacts, startedAt: number): TracedOperation {
    const { app } = this.telemetry;
    const { connection, pattern } = this;
    return { app, connection, pattern, startedAt, ...facts, name: plainName(facts.name) };
  }

  #publish<T>(
    operation: TracedOperation,
    fn: (operation: TracedOperation) => Promise<T> | T,
    conclusion: Conclusion<T>,
  ): Promise<T> {
    const { around } = this.telemetry;
    const { start, end } = this.#channels;
    start.publish(operation);
    let running: Promise<T> | undefined;
    const run = (): Promise<T> => (running ??= this.#perform(operation, fn, conclusion));
    try {
      around?.(operation, run);
    } catch {
      // What it did not run is run without it.
    }
    const result = run();
    end.publish(operation);
    return result;
  }

  async #perform<T>(
    operation: TracedOperation,
    fn: (operation: TracedOperation) => Promise<T> | T,
    { ended, failed }: Conclusion<T>,
  ): Promise<T> {
    let value: T;
    try {
      value = await fn(operation);
    } catch (error) {
      this.#end(operation, () => {
        operation.outcome = failed?.(error, operation) ?? 'error';
        operation.code = codeOf(error);
      });
      throw error;
    }
    this.#end(operation, () => {
      ended?.(value, operation);
      operation.outcome ??= 'ok';
    });
    return value;
  }

  #end(operation: TracedOperation, conclude: () => void): void {
    try {
      conclude();
    } catch {
      // Such as an error without a class. What it was is not known then, only that it is over.
      operation.outcome ??= 'error';
    }
    operation.elapsedMs ??= performance.now() - operation.startedAt;
    const { error, asyncStart, asyncEnd } = this.#channels;
    if (operation.code !== undefined) error.publish(operation);
    asyncStart.publish(operation);
    asyncEnd.publish(operation);
  }
}

/** What names an error without telling its text, which may hold anything. */
function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  const { code } = error as { code?: unknown };
  if (typeof code === 'string' && code.startsWith('ERR_')) return code;
  return error.constructor.name || 'Error';
}
