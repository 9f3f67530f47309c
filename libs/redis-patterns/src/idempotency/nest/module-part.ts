import type { PatternPart } from '../../nest/pattern-part.js';
import { resolveIdempotencyOptions, type ResolvedIdempotencyOptions } from '../idempotency.options.js';
import { IdempotencyService } from '../idempotency.service.js';
import { IdempotencyFilter } from './idempotency.filter.js';
import { IdempotencyInterceptor } from './idempotency.interceptor.js';

/** What idempotency adds to the module. */
export const idempotencyPart: PatternPart<ResolvedIdempotencyOptions> = {
  option: 'idempotency',
  keeps: 'durable',
  resolve: resolveIdempotencyOptions,
  services: [{ token: IdempotencyService, create: (context, options) => new IdempotencyService(context, options) }],
  decorators: ['@Idempotent'],
  providers: [IdempotencyInterceptor, IdempotencyFilter],
};
