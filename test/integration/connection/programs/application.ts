// An application that uses every pattern and then ends: nothing of the library may keep the process running.
import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import {
  CacheService,
  LockService,
  RateLimitService,
  RedisConnections,
  RedisPatternsModule,
  StreamProducer,
  type RedisPatternsOptions,
} from 'nestjs-redis-patterns';
import { programData, tellParent } from '../../../support/parent.js';

export interface ApplicationSetup {
  readonly namespace: string;
  readonly connection: RedisPatternsOptions['connection'];
  /**
   * How it ends: `signal` waits for SIGTERM with Nest's shutdown hooks; `application` and `connections` close by
   * themselves; `in-flight` closes with calls and a blocking read under way.
   */
  readonly end: 'signal' | 'application' | 'connections' | 'in-flight';
}

const { namespace, connection, end } = programData<ApplicationSetup>();
// Whether the library keeps the process running is the question: the line to the spec must not.
process.channel?.unref();

const options = { namespace, connection, rateLimit: { policies: { api: { limit: 9, window: '1m' } } } };
const module = RedisPatternsModule.forRoot(options as RedisPatternsOptions);
const application = await NestFactory.createApplicationContext(module, { logger: false, abortOnError: false }).catch(
  async (error: { code?: string }) => {
    await tellParent({ type: 'failed', code: error.code });
  },
);
if (application) {
  await usePatterns();
  if (end === 'signal') {
    application.enableShutdownHooks();
    await tellParent({ type: 'ready' });
    // As an HTTP server would, until the hooks have run.
    setInterval(() => undefined, 1000);
  } else {
    if (end === 'in-flight') leaveCallsInFlight();
    const began = performance.now();
    await (end === 'connections' ? application.get(RedisConnections).close() : application.close());
    await tellParent({ type: 'closed', elapsed: performance.now() - began });
  }
}

/** Whatever it answers: some of the servers are dead. */
async function usePatterns(): Promise<void> {
  const lock = application!.get(LockService);
  await Promise.allSettled([
    application!.get(CacheService).getOrSet('k', () => 'v'),
    lock.using('section', { lease: '10s' }, () => undefined),
    application!.get(RateLimitService).consume('api', 'somebody'),
    application!.get(StreamProducer).publish('orders', { id: 1 }),
  ]);
}

function leaveCallsInFlight(): void {
  const connections = application!.get(RedisConnections);
  const blocked = connections.withBlocking('default', (client) => client.blpop(`${namespace}:nothing`, 0));
  const ignored = () => undefined;
  blocked.catch(ignored);
  for (let n = 0; n < 100; n++) application!.get(CacheService).set(`k${n}`, 'v').catch(ignored);
  application!.get(LockService).acquire('held', { lease: '60s', autoExtend: true }).catch(ignored);
}
