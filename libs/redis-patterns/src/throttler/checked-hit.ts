import { InvalidOptionsError, type OptionIssue } from '../core/index.js';
import type { ThrottlerHit } from './throttler.types.js';

const LONGEST = 1e12;
const timeRule = `must be milliseconds, from 1 to ${LONGEST}`;

/**
 * A hit with whole numbers, as the script wants them.
 *
 * @throws InvalidOptionsError naming the throttler and each option that cannot work
 */
export function checkedHit({ key, ttl, limit, blockDuration, throttlerName }: ThrottlerHit): ThrottlerHit {
  const issues: OptionIssue[] = [];
  // What has no time would be no limit at all, or lock out for ever.
  if (!(ttl > 0 && ttl <= LONGEST)) issues.push({ path: 'ttl', message: `is ${ttl}; it ${timeRule}` });
  if (!(blockDuration <= LONGEST)) {
    issues.push({ path: 'blockDuration', message: `is ${blockDuration}; it ${timeRule}, or 0` });
  }
  if (typeof limit !== 'number' || Number.isNaN(limit)) {
    issues.push({ path: 'limit', message: `is ${limit}; it must be a number of hits` });
  }
  if (typeof key !== 'string' || key === '') {
    issues.push({ path: 'generateKey', message: 'gave no text; it must name who is counted' });
  }
  if (issues.length > 0) throw new InvalidOptionsError(`the throttler '${throttlerName}'`, issues);
  return {
    key,
    throttlerName,
    ttl: Math.ceil(ttl),
    limit: Math.max(0, Math.floor(limit)),
    blockDuration: Math.max(0, Math.ceil(blockDuration)),
  };
}
