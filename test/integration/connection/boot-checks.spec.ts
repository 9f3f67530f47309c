import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Module, type INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { RedisConnections, RedisPatternsModule, WithLock, type RedisPatternsOptions } from 'nestjs-redis-patterns';
import { resolveConnectionOptions, type ConnectionOptions } from '../../../libs/redis-patterns/src/connection/index.js';
import { plainTextWarning } from '../../../libs/redis-patterns/src/connection/startup.js';
import { telemetryChannel, type TelemetryPayload } from '../../../libs/redis-patterns/src/telemetry/index.js';
import { eventually } from '../../support/eventually.js';
import { startOwn, uniqueNamespace, useOwn } from '../../support/topologies.js';

class Locked {
  @WithLock({ key: 'job' })
  async run(): Promise<void> {}
}

const applications: INestApplicationContext[] = [];
const warnings: string[] = [];
const errors: string[] = [];
const onWarning = (message: unknown): void => void warnings.push((message as TelemetryPayload<'warning'>).message);
const onError = (message: unknown): void => {
  const { message: text, error } = message as TelemetryPayload<'error'>;
  errors.push(`${text}: ${String(error)}`);
};
beforeEach(() => {
  warnings.length = 0;
  errors.length = 0;
  subscribe(telemetryChannel('warning'), onWarning);
  subscribe(telemetryChannel('error'), onError);
});
afterEach(async () => {
  unsubscribe(telemetryChannel('warning'), onWarning);
  unsubscribe(telemetryChannel('error'), onError);
  await Promise.all(applications.splice(0).map((application) => application.close()));
});

/** Boots an application that uses locks, the cache, both or none. */
async function boot(
  options: Omit<RedisPatternsOptions, 'namespace'>,
  uses: readonly ('lock' | 'cache')[] = [],
): Promise<RedisConnections> {
  const patterns = uses.includes('cache') ? { cache: { ttl: '1m' }, ...options } : options;
  @Module({
    imports: [RedisPatternsModule.forRoot({ namespace: uniqueNamespace(), ...patterns } as RedisPatternsOptions)],
    providers: uses.includes('lock') ? [Locked] : [],
  })
  class App {}
  const application = await NestFactory.createApplicationContext(App, { logger: false, abortOnError: false });
  applications.push(application);
  return application.get(RedisConnections);
}

describe('what the boot checks on a server', () => {
  const own = useOwn('standalone');
  const plain = (): ConnectionOptions => own.topology.connection as ConnectionOptions;
  const configure = (name: string, value: string): Promise<unknown> =>
    own.admin.client.call('CONFIG', 'SET', name, value);
  afterEach(async () => {
    await configure('maxmemory-policy', 'noeviction');
    await configure('maxmemory', '0');
    await own.admin.client.call('REPLICAOF', 'NO', 'ONE');
  });

  it.each(['allkeys-lru', 'volatile-ttl'])('fails a durable connection on a server with %s', async (policy) => {
    await configure('maxmemory-policy', policy);
    for (const uses of [['lock'], []] as const) {
      await expect(boot({ connection: { ...plain(), purpose: 'durable' } }, uses)).rejects.toMatchObject({
        code: 'ERR_REDIS_CONNECT',
        message: expect.stringMatching(new RegExp(`'${policy}' may evict .*noeviction.*evictionCheck`)),
      });
    }
    expect(warnings).toEqual([]);
  });

  it('warns, once, of durable keys on a server that evicts, and names the patterns and the remedy', async () => {
    await configure('maxmemory-policy', 'allkeys-lru');
    const connections = await boot({ connection: plain() }, ['lock']);
    expect(warnings).toEqual([
      expect.stringMatching(/'default'.*'allkeys-lru' may evict the keys of 'lock'.*noeviction/),
    ]);
    expect(connections.stats().server).toEqual({
      version: own.topology.binary.version.join('.'),
      role: 'master',
      maxmemoryPolicy: 'allkeys-lru',
    });
  });

  it('warns of one evicting server for cache and durable patterns, and shows the line that parts them', async () => {
    await configure('maxmemory-policy', 'allkeys-lru');
    await boot({ connection: plain() }, ['lock', 'cache']);
    expect(warnings).toEqual([
      expect.stringMatching(/fits 'cache', but evicts the keys of 'lock'.*connections: \{ cache/),
    ]);
  });

  it('is content with a cache on a server that evicts, and with everything on one that does not', async () => {
    await boot({ connection: plain() }, ['lock', 'cache']);
    await configure('maxmemory-policy', 'allkeys-lfu');
    await configure('maxmemory', '100mb');
    await boot({ connection: { ...plain(), purpose: 'cache' } }, ['cache']);
    expect(warnings).toEqual([]);
  });

  it('parts what shares no connection', async () => {
    await configure('maxmemory-policy', 'allkeys-lru');
    const other = await startOwn('standalone');
    try {
      await boot(
        {
          connections: {
            cache: { ...plain(), purpose: 'cache' },
            durable: { ...(other.connection as ConnectionOptions), purpose: 'durable' },
          },
          cache: { connection: 'cache', ttl: '1m' },
          lock: { connection: 'durable' },
        },
        ['lock', 'cache'],
      );
      expect(warnings).toEqual([]);
      await Promise.all(applications.splice(0).map((application) => application.close()));
    } finally {
      await other.stop();
    }
  });

  it('warns of a cache that would refuse writes once it is full', async () => {
    await configure('maxmemory', '100mb');
    await boot({ connection: { ...plain(), purpose: 'cache' } }, ['cache']);
    expect(warnings).toEqual([expect.stringMatching(/'noeviction' refuses writes.*allkeys-lfu/)]);
  });

  it('does as evictionCheck says', async () => {
    await configure('maxmemory-policy', 'allkeys-lru');
    await boot({ connection: { ...plain(), purpose: 'durable', evictionCheck: 'off' } }, ['lock']);
    expect(warnings).toEqual([]);
    await boot({ connection: { ...plain(), purpose: 'durable', evictionCheck: 'warn' } }, ['lock']);
    expect(warnings).toHaveLength(1);
    await expect(boot({ connection: { ...plain(), evictionCheck: 'fail' } }, ['lock'])).rejects.toThrow(/noeviction/);
  });

  it('says afterwards what would have failed a boot that does not wait', async () => {
    await configure('maxmemory-policy', 'allkeys-lru');
    await boot({ connection: { ...plain(), purpose: 'durable', startup: 'background' } }, ['lock']);
    await eventually(() => expect(errors).toEqual([expect.stringMatching(/cannot be used.*'allkeys-lru' may evict/)]));
  });

  it('fails on a replica, a database that does not exist, and one that the user may not choose', async () => {
    await expect(boot({ connection: { ...plain(), db: 99 } as ConnectionOptions })).rejects.toThrow(
      /no database.*'db'/,
    );
    await own.admin.client.call('ACL', 'SETUSER', 'zero', 'on', '>pw', '~*', '&*', '+@all', '-select');
    await expect(
      boot({ connection: { ...plain(), db: 3, username: 'zero', password: 'pw' } as ConnectionOptions }),
    ).rejects.toThrow(/may not SELECT.*\+select/);
    await own.admin.client.call('REPLICAOF', '127.0.0.1', '1');
    await expect(boot({ connection: plain() })).rejects.toThrow(/is a replica.*master/);
  });

  it('never works in database 0 when its own has become unreachable', async () => {
    await own.admin.client.call('ACL', 'SETUSER', 'three', 'on', '>pw', '~*', '&*', '+@all');
    const options = { ...plain(), db: 3, username: 'three', password: 'pw' } as ConnectionOptions;
    const connections = await boot({ connection: options });
    await own.admin.client.call('ACL', 'SETUSER', 'three', '-select');
    await own.admin.client.call('CLIENT', 'KILL', 'USER', 'three');
    // Whatever is written until the socket is closed again, nothing may arrive in database 0.
    await eventually(() => expect(connections.stats().status).not.toBe('ready'));
    await own.admin.client.call('ACL', 'SETUSER', 'three', '+select');
    await eventually(() => expect(connections.stats().status).toBe('ready'), { timeout: 10_000 });
    await connections.get().set('here', '1');
    expect(await own.admin.client.call('DBSIZE')).toBe(0);
  });
});

describe('plain text to another host', () => {
  const warningFor = (raw: string | ConnectionOptions): string | undefined =>
    plainTextWarning(resolveConnectionOptions(raw, 'the spec', 'connection'));

  it.each(['redis://10.0.0.7', 'redis+cluster://127.0.0.1:1,redis.example:1', 'redis+sentinel://s:1/main'])(
    'is worth a warning: %s',
    (url) => expect(warningFor(url)).toMatch(/in clear.*rediss.*tls: false/),
  );

  it.each<string | ConnectionOptions>([
    'redis://localhost',
    'redis://127.0.0.1',
    'redis://[::1]',
    'rediss://10.0.0.7',
    { url: 'redis://10.0.0.7', tls: false },
  ])('is not, where nobody listens or it is meant: %j', (raw) => expect(warningFor(raw)).toBeUndefined());
});
