import type { Effect } from '../connection/index.js';

/**
 * A Lua script with the types of its keys, arguments and reply. Made by the generator from the header of a `.lua` file, so
 * that a wrong arity or type does not compile.
 */
export interface Script<
  Keys extends readonly string[] = readonly string[],
  Args extends readonly (string | number)[] = readonly (string | number)[],
  Reply = unknown,
> {
  /** `<pattern>.<file>`, for errors and telemetry. */
  readonly name: string;
  /** SHA-1 of `lua`, as EVALSHA wants it. */
  readonly sha: string;
  readonly lua: string;
  readonly effect: Effect;
  /** Carries the types only; never set. */
  readonly signature?: (keys: Keys, args: Args) => Reply;
}
