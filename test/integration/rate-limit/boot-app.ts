import type { INestApplication, Provider, Type } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { RedisPatternsModule } from '../../../libs/redis-patterns/src/nest/redis-patterns.module.js';
import type { RateLimitOptions } from '../../../libs/redis-patterns/src/rate-limit/index.js';

/** Nothing listens there: these specs are about what happens without Redis. */
export const NOWHERE = { port: 1, startup: 'background' } as const;
const POLICIES = {
  api: { limit: 3, window: '1m' },
  user: { limit: 3, window: '1m', by: 'user' },
  closed: { limit: 3, window: '1m', onStoreError: 'closed' },
  leased: { algorithm: 'concurrency', limit: 3 },
} satisfies RateLimitOptions['policies'];

export interface Classes {
  controllers?: Type[];
  providers?: Provider[];
}

/** An application without Redis; one that does not start is closed. */
export async function boot(classes: Classes, rateLimit: RateLimitOptions = {}): Promise<INestApplication> {
  const options = {
    namespace: 'boot',
    connection: NOWHERE,
    rateLimit: { policies: POLICIES, deadline: 50, ...rateLimit },
  };
  const module = await Test.createTestingModule({
    imports: [RedisPatternsModule.forRoot(options)],
    ...classes,
  }).compile();
  const app = module.createNestApplication();
  try {
    return await app.init();
  } catch (error) {
    await app.close();
    throw error;
  }
}
