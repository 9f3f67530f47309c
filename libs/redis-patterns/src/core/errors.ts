/** Machine-readable name of an error; each one has a row in `docs/errors.md`. */
export type ErrorCode = `ERR_${string}`;

/**
 * Base of every error that this library throws. Branch on `code`, which is stable; the message is for people and names
 * the remedy.
 *
 * @example
 * ```ts
 * catch (error) {
 *   if (error instanceof RedisPatternsError && error.code === 'ERR_LOCK_TIMEOUT') return 'busy';
 *   throw error;
 * }
 * ```
 */
export class RedisPatternsError extends Error {
  constructor(
    readonly code: ErrorCode,
    message: string,
    options?: { cause?: unknown },
  ) {
    super(message, options);
    // A plain property would be enumerable and repeated by every logger that spreads errors.
    Object.defineProperty(this, 'name', { value: new.target.name, configurable: true, writable: true });
  }
}

/** One thing that is wrong with the options given. `path` is the option as it is written in code, e.g. `cache.ttl`. */
export interface OptionIssue {
  readonly path: string;
  readonly message: string;
}

/** Options that cannot work. Thrown at boot (or by the first call, for options given per call) and lists every issue. */
export class InvalidOptionsError extends RedisPatternsError {
  constructor(
    readonly where: string,
    readonly issues: readonly OptionIssue[],
  ) {
    super('ERR_INVALID_OPTIONS', `Invalid options for ${where}:\n${issues.map(formatIssue).join('\n')}`);
  }
}

function formatIssue({ path, message }: OptionIssue): string {
  return path === '' ? `  - ${message}` : `  - ${path}: ${message}`;
}

/** A decorated method, or a service, was used where no `RedisPatternsModule` has been bound to it. */
export class NotBoundError extends RedisPatternsError {
  constructor(message: string) {
    super('ERR_NOT_BOUND', message);
  }
}
