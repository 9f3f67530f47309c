import type { RateLimitHeaders } from '../rate-limit.options.js';
import type { PolicyResult, RateLimitResult } from '../rate-limit.result.js';

/**
 * The headers that tell a client where it stands. `draft`: `RateLimit-Policy` and `RateLimit` of the IETF draft
 * (draft-ietf-httpapi-ratelimit-headers), one item for each policy; `legacy`: `X-RateLimit-Limit`, `-Remaining` and `-Reset`
 * (in seconds from now) of the tightest policy. None when Redis did not decide, as the numbers would mean nothing, and none
 * about shadow policies.
 *
 * @param leased names of the policies that grant leases: they have no window
 */
export function limitHeaders(
  kinds: readonly RateLimitHeaders[],
  result: RateLimitResult,
  leased: ReadonlySet<string>,
): [name: string, value: string][] {
  const headers: [string, string][] = [];
  const shown = result.policies.filter(({ shadow }) => !shadow);
  if ((result.source !== 'redis' && result.source !== 'cache') || shown.length === 0) return headers;
  if (kinds.includes('draft')) {
    const list = (item: (each: PolicyResult) => string): string =>
      shown.map((each) => `${quote(each.policy)};${item(each)}`).join(', ');
    const quota = ({ policy, window }: PolicyResult): string =>
      leased.has(policy) ? 'qu="concurrent-requests"' : `w=${seconds(window)}`;
    const rest = ({ policy, resetAfterMs }: PolicyResult): string =>
      leased.has(policy) ? '' : `;t=${seconds(resetAfterMs)}`;
    headers.push(
      ['RateLimit-Policy', list((each) => `q=${each.limit};${quota(each)}`)],
      ['RateLimit', list((each) => `r=${each.remaining}${rest(each)}`)],
    );
  }
  if (kinds.includes('legacy')) {
    headers.push(
      ['X-RateLimit-Limit', String(result.limit)],
      ['X-RateLimit-Remaining', String(result.remaining)],
      ['X-RateLimit-Reset', String(seconds(result.resetAfterMs))],
    );
  }
  return headers;
}

/** `Retry-After`, unless no wait helps. */
export function retryAfterHeader(retryAfter: number | undefined): [name: string, value: string][] {
  return retryAfter === undefined ? [] : [['Retry-After', String(retryAfter)]];
}

function seconds(ms: number): number {
  return Math.ceil(ms / 1000);
}

/** A string of RFC 9651, which holds printable ASCII. */
function quote(name: string): string {
  return `"${name.replace(/[^ -~]/g, '_').replace(/["\\]/g, '\\$&')}"`;
}
