import type { RateLimitHeaders } from '../rate-limit.options.js';
import type { PolicyResult, RateLimitResult } from '../rate-limit.result.js';

type Header = readonly [name: string, value: string];

/** What the answers of a policy have in common. */
interface PolicyTexts {
  readonly limit: number;
  readonly window: number;
  /** As a string of a header. */
  readonly name: string;
  /** Item of `RateLimit-Policy`. */
  readonly quota: string;
}

/**
 * The headers that tell a client where it stands. `draft`: `RateLimit-Policy` and `RateLimit` of the IETF draft
 * (draft-ietf-httpapi-ratelimit-headers), one item for each policy; `legacy`: `X-RateLimit-Limit`, `-Remaining` and `-Reset`
 * (in seconds from now) of the tightest policy. None when Redis did not decide, as the numbers would mean nothing, and none
 * about shadow policies.
 */
export class LimitHeaders {
  /** By policy: the texts of the limit that was told last, as `resolve` may give another one. */
  readonly #texts = new Map<string, PolicyTexts>();

  of(kinds: readonly RateLimitHeaders[], result: RateLimitResult): Header[] {
    const headers: Header[] = [];
    if (result.source !== 'redis' && result.source !== 'cache') return headers;
    let quotas = '';
    let rests = '';
    for (const each of result.policies) {
      if (each.shadow) continue;
      const { name, quota } = this.#textsOf(each);
      const comma = quotas === '' ? '' : ', ';
      quotas += comma + quota;
      rests += `${comma}${name};r=${each.remaining}${isLease(each) ? '' : `;t=${seconds(each.resetAfterMs)}`}`;
    }
    if (quotas === '') return headers;
    if (kinds.includes('draft')) headers.push(['RateLimit-Policy', quotas], ['RateLimit', rests]);
    if (kinds.includes('legacy')) {
      headers.push(
        ['X-RateLimit-Limit', String(result.limit)],
        ['X-RateLimit-Remaining', String(result.remaining)],
        ['X-RateLimit-Reset', String(seconds(result.resetAfterMs))],
      );
    }
    return headers;
  }

  #textsOf(result: PolicyResult): PolicyTexts {
    const { policy, limit, window } = result;
    const known = this.#texts.get(policy);
    if (known?.limit === limit && known.window === window) return known;
    const name = quote(policy);
    const span = isLease(result) ? 'qu="concurrent-requests"' : `w=${seconds(window)}`;
    const texts = { limit, window, name, quota: `${name};q=${limit};${span}` };
    this.#texts.set(policy, texts);
    return texts;
  }
}

/** `Retry-After`, unless no wait helps. */
export function retryAfterHeader(retryAfter: number | undefined): Header[] {
  return retryAfter === undefined ? [] : [['Retry-After', String(retryAfter)]];
}

/** They have no window. */
function isLease({ algorithm }: PolicyResult): boolean {
  return algorithm === 'concurrency';
}

function seconds(ms: number): number {
  return Math.ceil(ms / 1000);
}

/** A string of RFC 9651, which holds printable ASCII. */
function quote(name: string): string {
  return `"${name.replace(/[^ -~]/g, '_').replace(/["\\]/g, '\\$&')}"`;
}
