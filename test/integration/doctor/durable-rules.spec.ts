import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import type { ExamineOptions } from 'nestjs-redis-patterns';
import { eventually } from '../../support/eventually.js';
import { cleanSlate, forgetCounters, foundIn, HEALTHY, useHealthyServer, writeCache } from './healthy-server.js';

const server = useHealthyServer('sentinel', HEALTHY.durable);
const SETTINGS = { ...HEALTHY.durable.config, appendonly: 'yes' };
const ORDERS = 'shop:stream:orders';
const DAY = 86_400_000;
let timer: NodeJS.Timeout | undefined;
afterEach(() => clearInterval(timer));

/** What locks, limits, sessions and a stream that is read look like when all is well. */
async function writeDurable(redis: Redis): Promise<void> {
  await writeCache(redis, 'shop:lock:order', 5);
  await writeCache(redis, 'shop:ratelimit:api', 5);
  await writeCache(redis, 'shop:session', 5);
  await redis.xadd(ORDERS, '*', 'n', '1');
  await redis.xgroup('CREATE', ORDERS, 'mail', '0');
  const given = await redis.xreadgroup('GROUP', 'mail', 'm1', 'STREAMS', ORDERS, '>');
  const id = given![0]![1][0]![0];
  await redis.xack(ORDERS, 'mail', id);
}

/** An entry that was given to `m1`, and since `idle` ms to nobody. */
async function leavePending(redis: Redis, idle: number): Promise<void> {
  const id = (await redis.xadd(ORDERS, '*', 'n', '2'))!;
  await redis.xreadgroup('GROUP', 'mail', 'm1', 'STREAMS', ORDERS, '>');
  await redis.xclaim(ORDERS, 'mail', 'm1', 0, id, 'IDLE', idle);
}

const set = (name: string, value: string | number) => () => server.redis.config('SET', name, value);

type Row = [string, (redis: Redis) => Promise<unknown>, string[], ExamineOptions?];

const ROWS: Row[] = [
  ['locks without TTL', (redis) => redis.mset('shop:lock:a', 1, 'shop:lock:b', 1), ['TTL002 shop:lock:*']],
  ['durable data that may be evicted', set('maxmemory-policy', 'allkeys-lru'), ['EVI003']],
  ['volatile-* over locks', set('maxmemory-policy', 'volatile-lru'), ['EVI004']],
  ['a cache beside durable data', (redis) => writeCache(redis, 'shop:cache:product', 20), ['MIX001']],
  ['nothing on disk', set('appendonly', 'no'), ['PER001']],
  ['a replica that is behind', async () => undefined, ['REP001'], { rules: { REP001: { bytes: -1 } } }],
  ['writes that no replica has to have', set('min-replicas-to-write', 0), ['REP002']],
  ['too few Sentinels', async () => undefined, ['REP003'], { rules: { REP003: { sentinels: 4 } } }],
  ['pending entries that nobody takes', (redis) => leavePending(redis, 600_000), [`STR001 ${ORDERS} mail`]],
  [
    'consumers that are gone',
    (redis) => leavePending(redis, 0),
    [`STR003 ${ORDERS} mail`],
    { rules: { STR003: { idle: -1 } } },
  ],
  [
    'a lag that grows',
    async (redis) => {
      timer = setInterval(() => void redis.xadd(ORDERS, '*', 'n', '3').catch(() => undefined), 10);
    },
    [`STR002 ${ORDERS} mail`],
    { window: '400ms' },
  ],
  [
    'dead letters',
    (redis) => redis.xadd(`shop:stream~dlq:{${ORDERS}}:mail`, '*', 'n', '4'),
    ['STR004 shop:stream~dlq:*'],
  ],
  [
    'dead letters when another database is in use',
    async (redis) => {
      await redis.xadd(`shop:stream~dlq:{${ORDERS}}:mail`, '*', 'n', '4');
      await redis.multi().select(1).set('other:1', 'x', 'EX', 600).select(0).exec();
    },
    ['MIX002', 'STR004 shop:stream~dlq:*'],
  ],
  [
    'a stream that nobody trims',
    (redis) => redis.xadd('shop:stream:old', `${Date.now() - 8 * DAY}-1`, 'n', '5'),
    ['SIZE005 shop:stream:old'],
  ],
  [
    'a group that nobody reads for',
    async (redis) => {
      await redis.xadd('shop:stream:old', `${Date.now() - 8 * DAY}-1`, 'n', '6');
      await redis.xgroup('CREATE', 'shop:stream:old', 'audit', '0');
    },
    ['STR005 shop:stream:old audit'],
    { rules: { SIZE005: { age: 9 * DAY } } },
  ],
];

describe('the doctor and durable data behind Sentinels', () => {
  beforeEach(async () => {
    await cleanSlate(server.redis, SETTINGS);
    // The replicas have to be near enough for writes again, and the file has to be written anew.
    await eventually(() => writeDurable(server.redis), { timeout: 15_000 });
    await eventually(async () => /aof_rewrite_in_progress:0/.test(await server.redis.info('persistence')));
    await forgetCounters(server.redis);
  });

  it('finds nothing on healthy servers', async () => {
    const report = await server.examine();
    expect(report.findings).toEqual([]);
    expect(report.target).toMatchObject({ mode: 'sentinel', unanswered: [] });
    expect(report.passed).toEqual(expect.arrayContaining(['REP001', 'REP002', 'REP003', 'PER001', 'STR001', 'EVI003']));
    expect(report.prefixes.map(({ prefix, class: workload }) => `${prefix} ${workload}`).toSorted()).toEqual([
      'shop:lock:order:* lock',
      'shop:ratelimit:api:* limiter',
      'shop:session:* session',
      `${ORDERS} stream`,
    ]);
  });

  it.each(ROWS)('finds %s, and only that', async (_title, plant, expected, options = {}) => {
    await plant(server.redis);
    expect(foundIn(await server.examine(options))).toEqual(expected);
  });
});
