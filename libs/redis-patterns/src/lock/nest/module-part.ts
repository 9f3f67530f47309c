import type { PatternPart } from '../../nest/pattern-part.js';
import { resolveLockOptions, type ResolvedLockOptions } from '../lock.options.js';
import { LockService } from '../lock.service.js';

/** What locks add to the module. */
export const lockPart: PatternPart<ResolvedLockOptions> = {
  option: 'lock',
  keeps: 'durable',
  resolve: resolveLockOptions,
  services: [{ token: LockService, create: (context, options) => new LockService(context, options) }],
  decorators: ['@WithLock'],
};
