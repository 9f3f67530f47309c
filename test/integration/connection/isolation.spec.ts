import { Controller, Get, Module, type INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { afterEach, describe, expect, it } from '@jest/globals';
import {
  CacheService,
  LockService,
  RateLimitService,
  RedisConnections,
  RedisPatternsModule,
  StreamProducer,
  WithLock,
  type ConnectionOptions,
} from 'nestjs-redis-patterns';
import { openEngine } from '../../support/engine.js';
import { RedisAdmin } from '../../support/redis-admin.js';
import { describeOnEachTopology, startOwn, uniqueNamespace, type PlainConnection } from '../../support/topologies.js';

const applications: INestApplicationContext[] = [];
afterEach(async () => void (await Promise.all(applications.splice(0).map((application) => application.close()))));

@Controller()
class Jobs {
  static running = 0;

  @Get()
  @WithLock({ key: 'job' })
  async run(): Promise<string> {
    return `run ${++Jobs.running}`;
  }
}

async function boot(connection: PlainConnection, namespace: string): Promise<INestApplicationContext> {
  @Module({
    imports: [RedisPatternsModule.forRoot({ namespace, connection: connection as ConnectionOptions })],
    controllers: [Jobs],
  })
  class App {}
  const application = await NestFactory.createApplicationContext(App, { logger: false, abortOnError: false });
  applications.push(application);
  return application;
}

describeOnEachTopology('invariant 11: a blocking lease', (topology) => {
  it('shares its socket with nobody, neither commands nor another lease', async () => {
    const { connection, close } = await openEngine(topology);
    const key = `{${topology.namespace}}:blocked`;
    const lend = (n: number): Promise<number> =>
      connection.withBlocking(async (lease) => {
        await lease.ready();
        const blocked = lease.client.blpop(`${key}:${n}`, 5);
        // While all of them block, commands are answered.
        await connection.run({ name: 'test.rpush', key, effect: 'once', send: (client) => client.rpush(key, n) });
        await connection.run({
          name: 'test.rpush',
          key,
          effect: 'once',
          send: (client) => client.rpush(`${key}:${n}`, n),
        });
        return Number((await blocked)![1]);
      });
    try {
      expect(await Promise.all([1, 2, 3].map(lend))).toEqual([1, 2, 3]);
    } finally {
      await topology.admin.deleteKeys(`${key}*`);
      await close();
    }
  });
});

describeOnEachTopology('invariant 16: two applications in one process', (topology) => {
  it('share nothing: neither keys, locks, sockets nor their end', async () => {
    const names = [uniqueNamespace(), uniqueNamespace()];
    const [one, two] = await Promise.all(names.map((name) => boot(topology.connection, name)));
    await one!.get(CacheService).set('k', 'one', { ttl: '1m' });
    expect(await two!.get(CacheService).get('k')).toBeUndefined();
    const held = await one!.get(LockService).acquire('job');
    // The decorated method takes the lock of the application that it belongs to.
    await expect(one!.get(Jobs).run()).rejects.toMatchObject({ code: 'ERR_LOCK_TIMEOUT' });
    expect(await two!.get(Jobs).run()).toMatch(/^run /);
    await held.release();
    await one!.close();
    expect(one!.get(RedisConnections).stats().status).toBe('end');
    await two!.get(CacheService).set('k', 'two', { ttl: '1m' });
    expect(await two!.get(CacheService).get('k')).toBe('two');
  });
});

describe('invariant 13: a stable Cluster', () => {
  it('answers no MOVED to any pattern', async () => {
    const topology = await startOwn('cluster');
    const admin = await RedisAdmin.connect(topology.connection);
    try {
      const application = await boot(topology.connection, uniqueNamespace());
      const keys = Array.from({ length: 100 }, (_, n) =>
        `key ${n} {}`.replace('{}', String.fromCodePoint(0x1f600 + n)),
      );
      for (const key of keys) {
        await application.get(CacheService).getOrSet(key, () => Promise.resolve(key));
        await application.get(LockService).using(key, {}, async () => undefined);
        await application.get(StreamProducer).publish('events', { key });
        const policy = { name: 'moved', algorithm: 'sliding-window', limit: 1000, window: '1m' } as const;
        await application.get(RateLimitService).consume(policy, key);
      }
      const errors = await Promise.all(admin.masters().map((master) => master.info('errorstats')));
      expect(errors.join('\n')).not.toContain('errorstat_MOVED');
    } finally {
      admin.close();
      await Promise.all(applications.splice(0).map((application) => application.close()));
      await topology.stop();
    }
  });
});
