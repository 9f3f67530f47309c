import type { HttpExchange } from '../../../nest/http/exchange.js';
import type { ResolvedResponseOptions } from './response.options.js';
import type { Baseline } from './stored-response.js';

/** Request headers that say who asks, which is what `scope` is for. */
const WHO = ['authorization', 'cookie'];
/** Bodies are stored as handlers return them, and encoded when they are sent. */
export const ENCODING = 'accept-encoding';

/** The names in a `Vary` header, in lower case. */
export function varyNames(value: string): string[] {
  return value
    .split(',')
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== '');
}

/**
 * Whether two requests that differ in this header have different keys.
 *
 * @param name in lower case
 */
export function isPartOfKey(name: string, { headers, scope, shareAuthenticated }: ResolvedResponseOptions): boolean {
  return headers.includes(name) || (WHO.includes(name) && (scope !== 'public' || shareAuthenticated));
}

/**
 * What to say of a response that depends, as its handler says in `Vary`, on a request header that is not part of its key.
 *
 * What `Vary` had before the handler ran is left aside: middleware, such as that for CORS, chooses anew for each request.
 * So does whatever compresses responses, and later than here: only a handler that encodes its body itself must declare
 * `Accept-Encoding`.
 */
export function undeclaredVary(
  before: Baseline,
  exchange: HttpExchange,
  options: ResolvedResponseOptions,
): string | undefined {
  const value = exchange.header('Vary');
  if (value === '') return undefined;
  const known = varyNames(String(before.headers['vary'] ?? ''));
  const isEncoded = exchange.header('Content-Encoding') !== '';
  const isOthers = (name: string): boolean => (name === ENCODING ? !isEncoded : known.includes(name));
  const missing = varyNames(value).filter((name) => !isOthers(name) && !isPartOfKey(name, options));
  if (missing.length === 0) return undefined;
  const names = missing.map((name) => `'${name}'`).join(', ');
  return `a response was not stored: it has 'Vary: ${value}', but its key does not depend on ${missing.join(', ')}; add headers: [${names}]. This is said once.`;
}
