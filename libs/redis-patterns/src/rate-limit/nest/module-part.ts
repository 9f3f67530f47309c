import type { PatternPart } from '../../nest/pattern-part.js';
import { resolveRateLimitOptions, type ResolvedRateLimitOptions } from '../rate-limit.options.js';
import { RateLimitService } from '../rate-limit.service.js';
import { usesOf } from './limit-use.js';
import { RateLimitExplorer } from './rate-limit.explorer.js';
import { RateLimitFilter } from './rate-limit.filter.js';
import { GlobalRateLimitGuard } from './rate-limit.guard.js';

/** What rate limits add to the module. */
export const rateLimitPart: PatternPart<ResolvedRateLimitOptions> = {
  option: 'rateLimit',
  keeps: 'durable',
  resolve: resolveRateLimitOptions,
  services: [{ token: RateLimitService, create: (context, options) => new RateLimitService(context, options) }],
  decorators: ['@RateLimit'],
  marks: (owner) => usesOf(owner).length > 0,
  providers: [RateLimitExplorer, RateLimitFilter, GlobalRateLimitGuard],
};
