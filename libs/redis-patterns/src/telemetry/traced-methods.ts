import type { TracedOperation } from './operation.js';
import type { PatternTracer } from './tracer.js';

/** Names of the methods of a class that give a promise. */
type AsyncMethods<Instance> = {
  [Name in keyof Instance & string]: Instance[Name] extends (...args: never[]) => Promise<unknown> ? Name : never;
}[keyof Instance & string];

type Method = (this: object, a?: unknown, b?: unknown, c?: unknown, d?: unknown) => Promise<unknown>;

/** What is special about some methods. */
export interface TracedMethodsOptions<Name extends string> {
  /** Those that give nothing, and have done what they should when they end. */
  readonly acts?: readonly Name[];
  /** Outcomes of errors that callers have to expect, by the code of the error. */
  readonly expected?: Readonly<Record<string, string>>;
}

/**
 * Has these methods of a class told as operations: `get` of `SessionService` as operation `get`, name `SessionService.get`. They end as
 * `done`, or as `nothing` where there was nothing (`undefined`, `null`, `false`). Of methods that call each other the last one
 * of the chain is named, so that no call is told twice.
 *
 * While nobody listens a call costs one look whether somebody does. Arguments are passed one by one, as an array of them would be made for
 * each call: a method with a rest, or with more than four, cannot be told.
 *
 * @param type its instances have a field `tracer`
 *
 * @example
 * ```ts
 * traceMethods(SessionService, ['create', 'get'], { expected: { ERR_SESSION_CONFLICT: 'conflict' } });
 * ```
 */
export function traceMethods<Instance extends object>(
  type: { readonly prototype: Instance; readonly name: string },
  methods: readonly AsyncMethods<Instance>[],
  { acts = [], expected = {} }: TracedMethodsOptions<AsyncMethods<Instance>> = {},
): void {
  const failed = (error: unknown): string | undefined => expected[(error as { code?: string } | null)?.code ?? ''];
  for (const key of methods) {
    const method = type.prototype[key] as Method;
    const operation = key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    const facts = { operation, name: `${type.name}.${key}` };
    const conclusion = { ended: acts.includes(key) ? done : ended, failed };
    // The name of the method stays, for stack traces.
    const { [key]: traced } = {
      [key](this: { readonly tracer?: PatternTracer }, a?: unknown, b?: unknown, c?: unknown, d?: unknown) {
        const { tracer } = this;
        if (tracer?.active !== true) return method.call(this, a, b, c, d);
        return tracer.run(facts, () => method.call(this, a, b, c, d), conclusion);
      },
    };
    Object.defineProperty(type.prototype, key, { value: traced, writable: true, configurable: true });
  }
}

function ended(value: unknown, operation: TracedOperation): void {
  operation.outcome = value === undefined || value === null || value === false ? 'nothing' : 'done';
}

function done(_: unknown, operation: TracedOperation): void {
  operation.outcome = 'done';
}
