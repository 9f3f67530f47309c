import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import type { ExamineOptions } from 'nestjs-redis-patterns';
import { eventually } from '../../support/eventually.js';
import {
  cleanSlate,
  forgetCounters,
  foundIn,
  HEALTHY,
  useHealthyServer,
  writeCache,
  writeForEver,
} from './healthy-server.js';

const server = useHealthyServer('standalone', HEALTHY.cache);
const SETTINGS = { ...HEALTHY.cache.config, save: '', 'tcp-keepalive': 300, 'latency-monitor-threshold': 0 };
const clients: Redis[] = [];
afterAll(() => clients.forEach((client) => client.disconnect()));

async function connect(name?: string): Promise<Redis> {
  const { host, port } = (await server.topology.primary()) as { host: string; port: number };
  const client = new Redis({ host, port, ...server.topology.users!.admin, ...(name && { connectionName: name }) });
  clients.push(client);
  await client.ping();
  return client;
}

async function repeat(times: number, command: string, ...args: (string | number)[]): Promise<void> {
  const pipeline = server.redis.pipeline();
  for (let n = 0; n < times; n++) pipeline.call(command, ...args.map((arg) => String(arg).replace('#', String(n))));
  await pipeline.exec();
}

async function used(): Promise<number> {
  return Number(/^used_memory:(\d+)/m.exec(await server.redis.info('memory'))![1]);
}

async function folder(): Promise<string> {
  return ((await server.topology.primary()) as unknown as { dir: string }).dir;
}

const set = (name: string, value: string | number) => () => server.redis.config('SET', name, value);

/** [what is planted, how, what exactly is found, other options, how it is taken away] */
type Row = [string, (redis: Redis) => Promise<unknown>, string[], ExamineOptions?, (() => Promise<unknown>)?];

const ROWS: Row[] = [
  [
    'a database of a cache, half without TTL',
    (redis) => writeForEver(redis, 'app:item', 120),
    ['TTL001'],
    { rules: { TTL001: { share: 0.6 } } },
  ],
  ['cache entries without TTL', (redis) => writeForEver(redis, 'shop:cache:user', 20), ['TTL002 shop:cache:user:*']],
  [
    'a writer that forgets the TTL',
    (redis) => writeForEver(redis, 'app:view', 20).then(() => repeat(9, 'EXPIRE', 'app:view:100#', 90)),
    ['TTL003 app:view:*'],
  ],
  [
    'a cache that expires at once',
    (redis) => writeCache(redis, 'shop:cache:page', 120, () => 1000),
    ['TTL004 shop:cache:page:*'],
  ],
  [
    'a cache of 40 days',
    (redis) => writeCache(redis, 'shop:cache:old', 10, () => 40 * 86_400),
    ['TTL005 shop:cache:old:*'],
  ],
  ['keys that have expired and stay', async () => undefined, ['TTL006'], { rules: { TTL006: { percent: -1 } } }],
  ['a big value', (redis) => redis.set('report:2031', 'x'.repeat(2_000_000), 'EX', 900), ['SIZE001 report:*']],
  [
    'a big collection',
    (redis) =>
      redis.hset('cart:17', Object.fromEntries(Array.from({ length: 40_000 }, (_, n) => [`f${n}`, 'a value']))),
    ['SIZE002 cart:*'],
  ],
  [
    'a prefix that takes most of the memory',
    (redis) => writeForEver(redis, 'blob', 5, 90_000),
    ['SIZE003 blob:*'],
    { rules: { SIZE003: { atLeast: 0 } } },
  ],
  ['a long name', (redis) => redis.set(`q:${'y'.repeat(300)}`, 1, 'EX', 900), ['SIZE004 q:*']],
  ['KEYS', () => repeat(1, 'KEYS', 'nothing'), ['CMD001 keys']],
  [
    'FLUSHDB',
    (redis) => redis.call('FLUSHDB').then(() => writeCache(redis, 'shop:cache:product', 3)),
    ['CMD002 flushdb'],
  ],
  [
    'collections that are read whole',
    (redis) =>
      repeat(500, 'HSET', 'h:1', '#', 1)
        .then(() => repeat(20, 'HGETALL', 'h:1'))
        .then(() => redis.expire('h:1', 90)),
    ['CMD003 hgetall'],
    { rules: { CMD003: { ms: 0.001 } } },
  ],
  [
    'a slow command',
    () => repeat(1, 'DEBUG', 'SLEEP', '0.02'),
    ['CMD004 debug sleep'],
    { rules: { CMD004: { ms: 10 } } },
  ],
  ['a script for each call', () => repeat(101, 'SCRIPT', 'LOAD', 'return #'), ['CMD005']],
  [
    'a command that fails',
    (redis) => redis.set('t:1', 'a', 'EX', 90).then(() => repeat(120, 'INCR', 't:1')),
    ['CMD006 incr'],
  ],
  ['MONITOR', async () => (await server.topology.primary()).command('MONITOR'), ['CMD007 monitor']],
  [
    'SETNX and EXPIRE',
    () => repeat(20, 'SETNX', 'mutex:#', 1).then(() => repeat(20, 'EXPIRE', 'mutex:#', 90)),
    ['CMD008 setnx'],
  ],
  ['a wrong password', () => repeat(1, 'AUTH', 'app', 'wrong'), ['ERR001 WRONGPASS']],
  ['no limit of memory', set('maxmemory', 0), ['EVI001']],
  ['a cache that evicts nothing', set('maxmemory-policy', 'noeviction'), ['EVI002']],
  [
    'volatile-* and nothing with a TTL',
    (redis) =>
      redis
        .flushall()
        .then(() => writeForEver(redis, 'app:item', 120))
        .then(set('maxmemory-policy', 'volatile-lru'))
        .then(() => redis.config('RESETSTAT')),
    ['EVI005'],
  ],
  [
    'a cache that is too small',
    async (redis) => {
      await redis.config('SET', 'maxmemory', (await used()) + 300_000);
      await writeForEver(redis, 'blob', 30, 50_000);
      await repeat(50, 'GET', 'gone:#');
      await redis.config('SET', 'maxmemory', '200mb');
      await redis.flushall();
      await writeCache(redis, 'shop:cache:product', 20);
    },
    ['CMD002 flushall', 'EVI006'],
  ],
  [
    'memory that is nearly used up',
    async (redis) =>
      redis.config('SET', 'maxmemory-policy', 'volatile-lru', 'maxmemory', Math.ceil((await used()) * 1.03)),
    ['EVI007'],
  ],
  [
    'two databases',
    (redis) =>
      redis
        .select(3)
        .then(() => redis.set('a', 1, 'EX', 90))
        .then(() => redis.select(0)),
    ['MIX002'],
  ],
  [
    'a snapshot that fails',
    async (redis) => {
      // A directory in the place of the file.
      await mkdir(path.join(await folder(), 'dump.rdb', 'x'), { recursive: true });
      await redis.call('BGSAVE');
      await eventually(async () => /rdb_last_bgsave_status:err/.test(await redis.info('persistence')));
    },
    ['PER002 rdb_last_bgsave_status'],
    {},
    async () => {
      await rm(path.join(await folder(), 'dump.rdb'), { recursive: true });
      await server.redis.call('BGSAVE');
      await eventually(async () => /rdb_last_bgsave_status:ok/.test(await server.redis.info('persistence')));
    },
  ],
  [
    'snapshots that are not made',
    set('save', '3600 1000000'),
    ['PER003'],
    { rules: { PER003: { changes: 10, age: -60_000 } } },
  ],
  [
    'a fork',
    (redis) =>
      redis
        .call('BGSAVE')
        .then(() => eventually(async () => /rdb_bgsave_in_progress:0/.test(await redis.info('persistence')))),
    ['PER004'],
    { rules: { PER004: { ms: 0 } } },
  ],
  ['many clients', async () => undefined, ['CON001'], { rules: { CON001: { share: 0 } } }],
  ['many clients of one application', async () => undefined, ['CON001'], { rules: { CON001: { each: 0 } } }],
  [
    'connections that come and go',
    async () => undefined,
    ['CON002'],
    { rules: { CON002: { perSecond: 0, uptime: 0 } } },
  ],
  ['a client without a name', () => connect(), ['CON003'], {}, async () => clients.pop()!.disconnect()],
  [
    'clients that are refused',
    async (redis) => {
      await redis.config('SET', 'maxclients', 1);
      await expect((await server.topology.primary()).command('PING')).rejects.toThrow();
      await redis.config('SET', 'maxclients', 10_000);
    },
    ['CON004'],
  ],
  ['a client with much memory', async () => undefined, ['CON005'], { rules: { CON005: { warn: 1000 } } }],
  ['no keep-alive', set('tcp-keepalive', 0), ['CON006']],
  [
    'a blocking command on a shared socket',
    async (redis) => {
      void (await connect('shop:default:command:1')).blpop('nothing', 0).catch(() => undefined);
      await eventually(async () => expect(await redis.client('LIST')).toMatch(/flags=b/));
    },
    ['CON008'],
    {},
    async () => clients.pop()!.disconnect(),
  ],
  [
    'a hot key',
    () => repeat(400, 'GET', 'shop:cache:product:1001'),
    ['HOT001 shop:cache:product:*'],
    { rules: { HOT001: { accesses: 20 } } },
  ],
  [
    'an event that took long',
    (redis) => redis.config('SET', 'latency-monitor-threshold', 1).then(() => repeat(1, 'DEBUG', 'SLEEP', '0.03')),
    ['LAT001 command'],
    { rules: { LAT001: { ms: 10, calls: 1e9 } } },
  ],
  ['fragmented memory', async () => undefined, ['MEM001'], { rules: { MEM001: { bytes: 0, high: 0 } } }],
  [
    'a default user without password',
    (redis) => redis.call('ACL', 'SETUSER', 'default', 'on', 'nopass'),
    ['SEC001'],
    {},
    () => server.redis.call('ACL', 'SETUSER', 'default', 'off'),
  ],
  ['a cache that nobody hits', () => repeat(50, 'GET', 'gone:#'), ['SLO001'], { rules: { SLO001: { reads: 50 } } }],
];

describe('the doctor and a cache', () => {
  beforeEach(async () => {
    await cleanSlate(server.redis, SETTINGS);
    await writeCache(server.redis, 'shop:cache:product', 150);
    await forgetCounters(server.redis);
  });

  it('finds nothing on a healthy server, and sees what is there', async () => {
    const report = await server.examine();
    expect(report.findings).toEqual([]);
    expect(report).toMatchObject({
      schemaVersion: 1,
      worst: null,
      failed: false,
      sample: { keys: 150, of: 150, stoppedBy: 'end', margin: 0 },
    });
    expect(report.prefixes).toMatchObject([{ prefix: 'shop:cache:product:*', class: 'cache', keys: 150, noTtl: 0 }]);
    // What was not looked at is not called good.
    expect(new Set(report.notChecked.map(({ rule }) => rule))).toEqual(
      new Set(['CON002', 'CON007', 'CON009', 'LCK001', 'STR002']),
    );
  });

  it.each(ROWS)(
    'finds %s, and only that',
    async (_title, plant, expected, options = {}, remove = async () => undefined) => {
      await plant(server.redis);
      try {
        expect(foundIn(await server.examine(options))).toEqual(expected);
      } finally {
        await remove();
      }
    },
  );
});
