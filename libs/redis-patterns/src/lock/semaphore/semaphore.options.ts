import { z } from 'zod';
import { parseOptions } from '../../core/index.js';
import { InvalidOptionsError } from '../../core/errors.js';
import { lockUsingSchema, type LockUsingOptions } from '../lock.options.js';

/** Options of one acquisition of permits; what is left out comes from the options of the locks. */
export interface SemaphoreCallOptions extends Pick<
  LockUsingOptions,
  'lease' | 'wait' | 'maxHold' | 'autoExtend' | 'signal'
> {
  /** How many permits there are, 1 to 100 000. The same for all who use the key. */
  limit: number;
  /** How many of them this call takes, at most `limit`. Default 1. */
  permits?: number;
}

/** Options of `SemaphoreService.using`. */
export interface SemaphoreUsingOptions extends SemaphoreCallOptions, Pick<LockUsingOptions, 'onLost'> {}

const MOST = 100_000;
const count = () => z.int().min(1).max(MOST);

const schema = lockUsingSchema
  .pick({ lease: true, wait: true, maxHold: true, autoExtend: true, signal: true, onLost: true })
  .extend({ limit: count(), permits: count().default(1) });

/** @throws InvalidOptionsError */
export function parseSemaphoreCall(raw: unknown, method: string): z.output<typeof schema> {
  const where = `SemaphoreService.${method}`;
  const call = parseOptions(schema, raw, where);
  if (call.permits <= call.limit) return call;
  const message = `must be at most 'limit' (${call.limit}), or it could never be had`;
  throw new InvalidOptionsError(where, [{ path: 'permits', message }]);
}
