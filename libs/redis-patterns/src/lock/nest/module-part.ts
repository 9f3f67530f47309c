import type { PatternPart, ServiceDefinition } from '../../nest/pattern-part.js';
import { resolveLockOptions, type ResolvedLockOptions } from '../lock.options.js';
import { LockService } from '../lock.service.js';
import { LeaderElectionService } from '../leader/leader-election.service.js';
import { RunOnceService } from '../run-once/run-once.service.js';
import { SemaphoreService } from '../semaphore/semaphore.service.js';

const createLocks: ServiceDefinition<ResolvedLockOptions>['create'] = (context, options, connectionOf) =>
  new LockService(context, options, options.redlock?.nodes.map(connectionOf));

/** What locks add to the module. */
export const lockPart: PatternPart<ResolvedLockOptions> = {
  option: 'lock',
  keeps: 'durable',
  resolve: resolveLockOptions,
  nodesOf: ({ redlock }) => redlock?.nodes ?? [],
  services: [
    { token: LockService, create: createLocks },
    { token: SemaphoreService, create: (context, options) => new SemaphoreService(context, options) },
    { token: LeaderElectionService, create: (context, options) => new LeaderElectionService(context, options) },
    { token: RunOnceService, create: (context) => new RunOnceService(context) },
  ],
  decorators: ['@WithLock', '@RunOnce'],
};
