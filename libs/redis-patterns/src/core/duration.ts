import { InvalidOptionsError } from './errors.js';

const UNITS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
type Unit = keyof typeof UNITS;

/**
 * A time span: a number is milliseconds, a text carries its unit.
 *
 * @example
 * ```ts
 * const durations: Duration[] = [250, '250ms', '30s', '5m', '1.5h', '7d'];
 * ```
 */
export type Duration = number | `${number}${Unit}`;

const PATTERN = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/;

/**
 * Milliseconds of a duration, or `undefined` when the text or number is not one (negative, infinite, without a unit, too
 * large to count in ms). Fractions round up to a whole millisecond, so that a wait never ends early.
 *
 * @example
 * ```ts
 * parseDuration('1.5s'); // 1500
 * parseDuration('1 week'); // undefined
 * ```
 */
export function parseDuration(value: unknown): number | undefined {
  if (typeof value === 'number') return wholeMilliseconds(value);
  if (typeof value !== 'string') return undefined;
  const match = PATTERN.exec(value);
  if (match === null) return undefined;
  const ms = Number(match[1]) * UNITS[match[2] as Unit];
  // Whole numbers are exact, but 1.1 * 1000 is 1100.0000000000002: round the noise away before rounding up.
  return wholeMilliseconds(match[1]!.includes('.') ? Number(ms.toPrecision(15)) : ms);
}

function wholeMilliseconds(value: number): number | undefined {
  const ms = Math.ceil(value);
  return value >= 0 && Number.isSafeInteger(ms) ? ms : undefined;
}

/**
 * Milliseconds of a duration given to a call.
 *
 * @param where the method it was given to, for the error
 * @param option its name there, for the error
 * @throws InvalidOptionsError naming `option` when it is not a duration
 *
 * @example
 * ```ts
 * toMilliseconds('30s', 'LockHandle.extend', 'lease'); // 30000
 * ```
 */
export function toMilliseconds(value: Duration, where: string, option: string): number {
  const ms = parseDuration(value);
  if (ms === undefined) throw new InvalidOptionsError(where, [{ path: option, message: durationMessage(value) }]);
  return ms;
}

/** A number of milliseconds in its largest exact unit, for messages: `1500` is `'1500ms'`, `60000` is `'1m'`. */
export function formatDuration(ms: number): string {
  const units = Object.keys(UNITS) as Unit[];
  const unit = ms === 0 ? undefined : units.findLast((candidate) => ms % UNITS[candidate] === 0);
  return `${ms / UNITS[unit ?? 'ms']}${unit ?? 'ms'}`;
}

/** What to tell somebody whose value is not a duration. Quotes numbers and texts (cut short), names the type of others. */
export function durationMessage(value: unknown): string {
  const remedy = "give milliseconds as a number >= 0, or a text such as '250ms', '30s', '5m', '1h', '7d'";
  return value === undefined ? `is required; ${remedy}` : `${quote(value)} is not a duration; ${remedy}`;
}

function quote(value: unknown): string {
  if (typeof value === 'number') return String(value);
  if (typeof value === 'string') return `'${value.length > 32 ? `${value.slice(0, 32)}…` : value}'`;
  return value === null ? 'null' : `a value of type ${typeof value}`;
}
