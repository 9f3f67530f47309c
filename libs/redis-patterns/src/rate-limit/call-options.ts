import type { Duration } from '../core/index.js';
import { InvalidOptionsError } from '../core/errors.js';
import { closest } from '../core/options.js';

/** Options of `peek`. */
export interface PeekOptions {
  /** Units of this call, for every policy of it. An integer from 0. Default: the `cost` of each policy. */
  cost?: number;
  /** Ends the wait, with its reason. The units may have been taken nevertheless. */
  signal?: AbortSignal;
}

/** Options of `consume`. */
export interface ConsumeOptions extends PeekOptions {
  /**
   * How long to wait for room: the call tries again after `retryAfterMs`, unless that is beyond this time. There is no queue:
   * whoever comes first takes it. Default 0.
   */
  wait?: Duration;
  /** Take what is there, up to the cost, and be refused only if that is nothing; `charged` says how much. Default false. */
  upTo?: boolean;
}

/** Options of `acquire`. */
export interface AcquireOptions extends PeekOptions {
  /** How long to wait for a place. There is no queue: whoever comes first takes it. Default 0. */
  wait?: Duration;
}

/** Options of `refund`. */
export interface RefundOptions {
  /** Units to give back to every policy. An integer from 0. Default: the `cost` of each policy. */
  cost?: number;
  /** `at` of the result that is given back, so that it does not end up in a newer window. Default: the newest units there are. */
  at?: number;
}

const KNOWN = {
  consume: ['cost', 'signal', 'wait', 'upTo'],
  peek: ['cost', 'signal'],
  acquire: ['cost', 'signal', 'wait'],
  refund: ['cost', 'at'],
} as const;

/**
 * Checks what plain JavaScript can give; numbers and durations are looked at where they are used. Written out, not a schema: it
 * is on the path of every call.
 *
 * @throws InvalidOptionsError
 */
export function checkedOptions<Options extends ConsumeOptions | RefundOptions>(
  options: Options,
  method: keyof typeof KNOWN,
): Options {
  if (typeof options !== 'object' || options === null)
    fail(method, 'options', 'must be an object, such as { cost: 2 }');
  const known: readonly string[] = KNOWN[method];
  for (const option in options) if (!known.includes(option)) fail(method, option, unknownOption(option, known));
  const { signal, upTo } = options as ConsumeOptions;
  if (signal !== undefined && !(signal instanceof AbortSignal)) fail(method, 'signal', 'must be an AbortSignal');
  if (upTo !== undefined && typeof upTo !== 'boolean') fail(method, 'upTo', 'must be true or false');
  return options;
}

function fail(method: string, path: string, message: string): never {
  throw new InvalidOptionsError(`RateLimitService.${method}`, [{ path, message }]);
}

/** What to say of an option that nobody knows. */
export function unknownOption(option: string, known: readonly string[]): string {
  const guess = closest(option, known);
  return `unknown option; ${guess === undefined ? `known are ${known.join(', ')}` : `did you mean '${guess}'?`}`;
}
