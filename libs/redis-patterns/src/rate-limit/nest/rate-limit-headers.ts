import { retryAfterSeconds } from '../rate-limit.errors.js';
import type { RateLimitHeaders } from '../rate-limit.options.js';
import type { PolicyResult, RateLimitResult } from '../rate-limit.result.js';

/**
 * The headers that tell a client where it stands. `draft`: `RateLimit-Policy` and `RateLimit` of the IETF draft
 * (draft-ietf-httpapi-ratelimit-headers), one item for each policy; `legacy`: `X-RateLimit-Limit`, `-Remaining` and `-Reset`
 * (in seconds from now) of the tightest policy. None when Redis did not decide, as the numbers would mean nothing.
 */
export function limitHeaders(
  kinds: readonly RateLimitHeaders[],
  result: RateLimitResult,
): [name: string, value: string][] {
  const headers: [string, string][] = [];
  if (!result.allowed) headers.push(...retryAfterHeader(retryAfterSeconds(result.retryAfterMs)));
  if (result.source !== 'redis') return headers;
  if (kinds.includes('draft')) {
    const list = (item: (each: PolicyResult) => string): string => result.policies.map(item).join(', ');
    headers.push(
      ['RateLimit-Policy', list(({ policy, limit, window }) => `${quote(policy)};q=${limit};w=${seconds(window)}`)],
      ['RateLimit', list((each) => `${quote(each.policy)};r=${each.remaining};t=${seconds(each.resetAfterMs)}`)],
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
