import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Test } from '@nestjs/testing';
import {
  BloomFilterService,
  CacheService,
  CounterService,
  FeedService,
  IdempotencyService,
  LeaderboardService,
  LockService,
  PubSubService,
  RateLimitService,
  RedisPatternsModule,
  SessionService,
  StreamProducer,
  UniqueCounterService,
  TokenService,
  type RedisPatternsOptions,
} from 'nestjs-redis-patterns';
import { slotOf } from '../../../libs/redis-patterns/src/keys/index.js';
import { ACL_EXTRAS, documentedAcl, SuiteUser, type AclPattern } from '../../support/acl.js';
import { eventually } from '../../support/eventually.js';
import { RedisAdmin } from '../../support/redis-admin.js';
import { describeOn, describeOnEachTopology, startOwn, type Topology } from '../../support/topologies.js';

type Server = Topology['nodes'][number];
type App = Awaited<ReturnType<typeof boot>>;
/** Those that keep keys; the doctor may see all keys, and has a spec of its own. */
type Pattern = Exclude<AclPattern, 'doctor'>;

/** One use of each pattern; the suites of the patterns, which run as the same users, do all the rest. */
const USES: Record<Pattern, (app: App) => Promise<unknown>> = {
  cache: (app) => app.get(CacheService).getOrSet('key', () => 'value'),
  rateLimit: (app) => app.get(RateLimitService).consume('api', 'somebody'),
  idempotency: (app) => app.get(IdempotencyService).run('key', 'payload', () => 'done'),
  lock: (app) => app.get(LockService).using('key', {}, () => 'done'),
  stream: (app) => app.get(StreamProducer).publish('orders', {}),
  leaderboard: (app) => app.get(LeaderboardService).board('sellers').submit('42', 1),
  counting: async (app) => [
    await app.get(CounterService).incr('views'),
    await app.get(UniqueCounterService).counter('visitors').add('somebody'),
    await app.get(BloomFilterService).filter('seen', { capacity: 10, errorRate: 0.01 }).add('something'),
  ],
  feed: (app) => app.get(FeedService).feed('news').push('something'),
  session: (app) => app.get(SessionService).create({}, { principal: 7 }),
  token: (app) => app.get(TokenService).issue('reset', {}, { principal: 7 }),
  pubsub: (app) => app.get(PubSubService).publish('news', {}, { delivery: 'reliable' }),
};
const PATTERNS = Object.keys(USES) as Pattern[];

const opened: { close(): unknown }[] = [];
afterEach(async () => {
  // What was started last ends first: applications before their servers.
  for (const each of opened.splice(0).toReversed()) await each.close();
});

async function boot(connection: object, namespace = 'shop') {
  const rateLimit = { policies: { api: { limit: 5, window: '1m' } }, deadline: '5s' };
  const options = { namespace, connection: { startup: 'fail-fast', ...connection }, rateLimit } as RedisPatternsOptions;
  const app = await Test.createTestingModule({ imports: [RedisPatternsModule.forRoot(options)] }).compile();
  opened.push(app);
  await app.init();
  return app;
}

/** Runs the lines of the documentation as they stand there. */
async function runLines(servers: readonly Server[], ...groups: string[]): Promise<void> {
  for (const group of groups) {
    for (const line of documentedAcl().get(group)!) {
      for (const server of servers) expect(await server.command(...line.split(' '))).toBe('OK');
    }
  }
}

/** Whatever these servers refused to anybody. */
async function refusals(servers: readonly Server[]): Promise<string[]> {
  const logs = await Promise.all(servers.map((server) => server.command('ACL', 'LOG')));
  return (logs.flat() as unknown[][]).map((entry) => entry.join(' '));
}

const app = { username: 'app', password: 'change-me' };

describe('the ACL lines of the documentation', () => {
  let own: Topology;
  beforeAll(async () => {
    own = await startOwn('standalone');
  });
  afterAll(() => own?.stop());
  beforeEach(async () => {
    await own.nodes[0]!.command('ACL', 'DELUSER', 'app');
    await own.nodes[0]!.command('ACL', 'LOG', 'RESET');
  });

  it('are all known to these tests', () => {
    const others = ['every connection', 'Redis 7.2 and newer', 'a database other than 0', 'Cluster'];
    const doctor = ['doctor', 'doctor, Redis 7.2 and newer'];
    const sentinels = ['Sentinels', "Sentinels, with readFrom: 'replica'", 'Sentinels, with the doctor'];
    const patterns = PATTERNS.flatMap((pattern) => [pattern, ...(ACL_EXTRAS[pattern] ?? [])]);
    expect([...documentedAcl().keys()]).toEqual([...others, ...patterns, ...doctor, ...sentinels]);
  });

  it.each(PATTERNS)('let %s work, and do nothing else', async (pattern) => {
    await runLines(own.nodes, 'every connection', pattern);
    await USES[pattern](await boot({ ...own.connection, ...app }));
    expect(await refusals(own.nodes)).toEqual([]);

    const asApp = await RedisAdmin.connect({ ...own.connection, ...app });
    opened.push(asApp);
    const { client } = asApp;
    const other = pattern === 'cache' ? 'lock' : 'cache';
    const attempts = [
      ['FLUSHALL'],
      ['FLUSHDB'],
      ['CONFIG', 'GET', '*'],
      ['KEYS', '*'],
      ['SCAN', '0'],
      ['ACL', 'LIST'],
      ['SCRIPT', 'FLUSH'],
      ['GET', 'elsewhere:cache:key'],
      ['GET', `shop:${other}:key`],
      ['GET', `shop2:${pattern}:key`],
      ['PUBLISH', 'shop', 'x'],
      ['EVAL', "return redis.call('FLUSHALL')", '0'],
      ['EVAL', "return redis.call('GET', KEYS[1])", '1', `shop:${other}:key`],
      ['EVAL', `return redis.call('GET', 'shop:${other}:key')`, '0'],
    ] as const;
    for (const [name, ...args] of attempts) {
      await expect(client.call(name, ...args)).rejects.toThrow(/^NOPERM|ERR The user executing the script can't/);
    }
  });

  it('let an application work in a database other than 0', async () => {
    await runLines(own.nodes, 'every connection', 'a database other than 0', 'cache');
    await USES.cache(await boot({ ...own.connection, ...app, db: 3 }));
    expect(await own.nodes[0]!.info('keyspace')).toMatchObject({ db3: expect.stringContaining('keys=1') });
    expect(await refusals(own.nodes)).toEqual([]);
  });

  it('let an application ask a server that did not answer whether it is back', async () => {
    const [server] = own.nodes as [Server];
    await runLines(own.nodes, 'every connection', 'cache');
    const impatient = { commandTimeout: 100, breaker: { failures: 1, openFor: 100 } };
    const cache = (await boot({ ...own.connection, ...app, ...impatient })).get(CacheService);
    await server.command('CONFIG', 'RESETSTAT');
    own.freeze(server);
    const refusal = () => cache.set('key', 'lost').catch((error: unknown) => error);
    await eventually(async () => expect(await refusal()).toMatchObject({ code: 'ERR_REDIS_BREAKER_OPEN' }));
    own.resume(server);
    await eventually(async () => expect(await cache.set('key', 'back').catch(() => false)).toBe(true));
    expect((await server.info('commandstats')).cmdstat_ping).toMatch(/^calls=[1-9]/);
    expect(await refusals(own.nodes)).toEqual([]);
  });

  it('keep an application that may not SELECT its database from writing to database 0', async () => {
    const [server] = own.nodes as [Server];
    await server.command('FLUSHALL');
    await runLines(own.nodes, 'every connection', 'cache');
    const cache = (await boot({ ...own.connection, ...app, db: 3, startup: 'background' })).get(CacheService);
    await eventually(async () => expect((await refusals(own.nodes)).join()).toContain('select'));
    await expect(cache.set('key', 'value')).rejects.toMatchObject({ outcome: 'not-sent' });
    expect(await server.info('keyspace')).toEqual({});
  });
});

describeOnEachTopology('one user of all patterns', { user: PATTERNS }, (topology) => {
  it('does the work of each', async () => {
    const all = await boot(topology.connection, topology.namespace);
    for (const pattern of PATTERNS) await USES[pattern](all);
    const urlOnly = await boot({ url: topology.url }, topology.namespace);
    expect(await urlOnly.get(CacheService).get('key')).toBe('value');
  });
});

describeOn('standalone', 'a suite with a user', (topology) => {
  it('fails when its user was refused something, also when nobody noticed', async () => {
    const user = new SuiteUser(topology, ['cache'], `${topology.namespace}x`);
    await user.create(topology.namespace);
    const asUser = await RedisAdmin.connect({ ...topology.connection, ...user.credentials });
    await asUser.client.keys('*').catch(() => undefined);
    asUser.close();
    await expect(user.remove()).rejects.toThrow('Redis refused the user of cache: command keys');
    expect(await topology.admin.client.call('ACL', 'GETUSER', user.credentials.username)).toBeNull();
  });
});

describe('the ACL lines for a Cluster', () => {
  let own: Topology;
  beforeAll(async () => {
    own = await startOwn('cluster', { user: 'cache' });
  });
  afterAll(() => own?.stop());

  it('are enough for reads from replicas, and for a failover', async () => {
    const cache = (await boot({ ...own.connection, readFrom: 'replica', commandTimeout: '5s' })).get(CacheService);
    const keys = Array.from({ length: 20 }, (_, n) => `key:${n}`);
    await Promise.all(keys.map((key) => cache.set(key, key)));
    await eventually(async () => expect(await Promise.all(keys.map((key) => cache.get(key)))).toEqual(keys));
    await own.failover();
    await eventually(async () => expect(await Promise.all(keys.map((key) => cache.set(key, 2)))).not.toContain(false));
    expect(await refusals(own.nodes)).toEqual([]);
  });

  it('are enough for a slot on its way to another node', async () => {
    const cache = (await boot(own.connection)).get(CacheService);
    await cache.set('moving', 'value');
    await moveWithoutItsSlot('shop:cache:moving', own);
    expect(await cache.get('moving')).toBe('value');
    expect(await refusals(own.nodes)).toEqual([]);
  });

  it('end no process where they are missing: without ASKING a call fails, and that is all', async () => {
    const cache = (await boot(own.connection)).get(CacheService);
    await cache.set('refused', 'value');
    await moveWithoutItsSlot('shop:cache:refused', own);
    for (const node of own.nodes) await node.command('ACL', 'SETUSER', 'app', '-asking');
    // An unhandled rejection would fail this test.
    expect(await cache.get('refused')).toBeUndefined();
  });
});

describe('the ACL lines for Sentinels', () => {
  it('are enough to find a master and replicas, and to follow a failover', async () => {
    const own = await startOwn('sentinel', { user: 'cache' });
    opened.push({ close: () => own.stop() });
    await runLines(own.sentinels, 'Sentinels', "Sentinels, with readFrom: 'replica'");
    const sentinel = { username: 'watcher', password: app.password };
    const cache = (await boot({ ...own.connection, sentinel })).get(CacheService);
    await boot({ ...own.connection, sentinel, readFrom: 'replica' });
    expect(await cache.set('key', 'before')).toBe(true);
    const master = await own.failover();
    // Both in one: the former master may still take a write that it loses when it is told.
    await eventually(
      async () => {
        expect(await cache.set('key', 'after')).toBe(true);
        expect(await master.command('EXISTS', 'shop:cache:key')).toBe(1);
      },
      { timeout: 10_000 },
    );
    expect(await refusals([...own.sentinels, ...own.nodes])).toEqual([]);

    const { host, port } = own.sentinels[0]!;
    const asSentinel = await RedisAdmin.connect(
      { mode: 'standalone', host, port, ...sentinel },
      { enableReadyCheck: false },
    );
    opened.push(asSentinel);
    const { client } = asSentinel;
    for (const [name, ...args] of [['SENTINEL', 'FAILOVER', 'main'], ['SENTINEL', 'MASTERS'], ['INFO'], ['SHUTDOWN']]) {
      await expect(client.call(name!, ...args)).rejects.toThrow(/^NOPERM/);
    }
  }, 60_000);
});

/** Moves a key as a resharding does, which has not told anybody yet: its node answers ASK. */
async function moveWithoutItsSlot(key: string, own: Topology): Promise<void> {
  const slot = slotOf(key);
  const masters = await own.masters();
  const source = await masterOf(slot, masters);
  const target = masters.find((master) => master !== source)!;
  const [from, to] = await Promise.all([source.command('CLUSTER', 'MYID'), target.command('CLUSTER', 'MYID')]);
  await target.command('CLUSTER', 'SETSLOT', slot, 'IMPORTING', from);
  await source.command('CLUSTER', 'SETSLOT', slot, 'MIGRATING', to);
  const { username, password } = own.users!.admin;
  const login = ['AUTH2', username, password];
  expect(await source.command('MIGRATE', target.host, target.port, key, 0, 5000, ...login)).toBe('OK');
}

async function masterOf(slot: number, masters: readonly Server[]): Promise<Server> {
  const ranges = (await masters[0]!.command('CLUSTER', 'SLOTS')) as [number, number, [string, number]][];
  const [, , [, port]] = ranges.find(([from, to]) => from <= slot && slot <= to)!;
  return masters.find((master) => master.port === port)!;
}
