import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { CacheService, LockService, type RedisPatternsError } from 'nestjs-redis-patterns';
import { eventually } from '../../support/eventually.js';
import { sharedTopology, startOwn, type Mode, type Topology } from '../../support/topologies.js';
import { TestApps } from './test-apps.js';

const AT_ONCE = 4000;
/** `wait` and `fail-fast` give a silent server 5 s; the rest is slack for a loaded machine. */
const PATIENCE = 5000;
const BOUNDED = PATIENCE + 3000;
const MODES: readonly Mode[] = ['standalone', 'sentinel', 'cluster'];
/** Nothing listens there. */
const DEAD_PORT = { host: '127.0.0.1', port: 1 };

const apps = new TestApps();
afterEach(() => apps.close());

function nobody(mode: Mode): object {
  if (mode === 'standalone') return { mode, ...DEAD_PORT };
  return mode === 'cluster' ? { mode, nodes: [DEAD_PORT] } : { mode, sentinels: [DEAD_PORT], name: 'main' };
}

async function timed<T>(promise: Promise<T>): Promise<{ value: T; elapsed: number }> {
  const began = performance.now();
  const value = await promise;
  return { value, elapsed: performance.now() - began };
}

/** What the three ways to start make of a Redis that does not answer. */
async function expectTheThreeWays(connection: object, words: RegExp): Promise<void> {
  const background = await timed(apps.boot({ ...connection, startup: 'background' }));
  expect(background.elapsed).toBeLessThan(AT_ONCE);
  const waiting = timed(apps.boot({ ...connection, startup: 'wait' }));
  const { error, elapsed } = await apps.failure({ ...connection, startup: 'fail-fast' });
  const waited = await waiting;
  expect(error).toMatchObject({ code: 'ERR_REDIS_CONNECT', name: 'RedisConnectError' });
  expect(error.message).toMatch(words);
  expect(elapsed).toBeGreaterThan(PATIENCE - 100);
  expect(elapsed).toBeLessThan(BOUNDED);
  expect(waited.elapsed).toBeLessThan(BOUNDED);
  expect(apps.troubles().filter((text) => text.includes('starts without it'))).toHaveLength(1);
  const call = await timed(
    waited.value
      .get(CacheService)
      .set('k', 'v')
      .catch((failed: RedisPatternsError) => failed),
  );
  expect(call.value).toMatchObject({ code: expect.stringMatching(/^ERR_REDIS_(NOT_READY|DEADLINE)$/) });
  expect(call.elapsed).toBeLessThan(1500);
}

const OPTION: Record<Mode, RegExp> = { standalone: /'url'/, sentinel: /'sentinels' and 'name'/, cluster: /'nodes'/ };

describe.each(MODES)('the start of an application without a Redis, on %s', (mode) => {
  it('fails, goes on or does not wait, as startup says, when nobody listens', async () => {
    await expectTheThreeWays(nobody(mode), new RegExp(`ECONNREFUSED.*${OPTION[mode].source}`, 's'));
  });

  it('does the same when the servers hang, and heals when they go on', async () => {
    const topology = await startOwn(mode);
    const servers = [...topology.nodes, ...topology.sentinels];
    try {
      for (const server of servers) topology.freeze(server);
      await expectTheThreeWays(topology.connection, OPTION[mode]);
      const late = await apps.boot({ ...topology.connection, startup: 'background' });
      for (const server of servers) topology.resume(server);
      await eventually(
        () =>
          late
            .get(CacheService)
            .set('k', 'v')
            .then(() => true),
        { timeout: 20_000 },
      );
    } finally {
      await topology.stop();
    }
  }, 60_000);
});

describe('a server that is not there yet', () => {
  let topology: Topology;
  beforeAll(async () => {
    topology = await startOwn('standalone', {
      persistence: 'rdb',
      config: { 'key-load-delay': 1000, 'loading-process-events-interval-bytes': 1024 },
    });
  });
  afterAll(() => topology.stop());

  /** Restarts it with so many keys that it loads for that long. */
  async function restartLoading(ms: number): Promise<void> {
    const node = await topology.primary();
    await node.command('FLUSHALL');
    await node.command('DEBUG', 'POPULATE', ms);
    await node.command('SAVE');
    await topology.restart(node, { loading: true });
  }

  it.each(['wait', 'fail-fast'])('is waited for by startup %s', async (startup) => {
    const node = await topology.primary();
    await topology.kill(node);
    const booting = timed(apps.boot({ ...topology.connection, startup }));
    await topology.restart(node, { data: 'wipe' });
    const { value, elapsed } = await booting;
    expect(elapsed).toBeLessThan(PATIENCE);
    expect(await value.get(CacheService).set('k', 'v')).toBe(true);
  });

  it('serves the calls that wait, with startup background', async () => {
    const node = await topology.primary();
    await topology.kill(node);
    const application = await apps.boot({ ...topology.connection, startup: 'background' });
    const waiting = application.get(LockService).using('early', { wait: '10s' }, () => 'done');
    await topology.restart(node, { data: 'wipe' });
    expect(await waiting).toBe('done');
  });

  it('is waited for while it loads its data', async () => {
    await restartLoading(1500);
    const { value } = await timed(apps.boot({ ...topology.connection, startup: 'fail-fast' }));
    expect(await value.get(CacheService).set('k', 'v')).toBe(true);
  });

  it('fails the boot by name when it loads for longer than the boot waits', async () => {
    await restartLoading(12_000);
    const { error, elapsed } = await apps.failure({ ...topology.connection, startup: 'fail-fast' });
    expect(elapsed).toBeLessThan(BOUNDED);
    expect(error.message).toContain('LOADING');
  });
});

describe('a server of another topology', () => {
  const first = (mode: Mode, what: 'nodes' | 'sentinels' = 'nodes') => {
    const { connection, nodes } = sharedTopology(mode);
    const found =
      what === 'nodes' ? nodes[0] : (connection as { sentinels?: { host: string; port: number }[] }).sentinels?.[0];
    return { host: found!.host, port: found!.port };
  };

  it.each([
    { title: 'a Cluster node as standalone', words: /mode 'cluster'/, connection: () => first('cluster') },
    { title: 'a Sentinel as standalone', words: /mode 'sentinel'/, connection: () => first('sentinel', 'sentinels') },
    {
      title: 'a single server as Cluster',
      words: /mode 'standalone'/,
      connection: () => ({ mode: 'cluster', nodes: [first('standalone')] }),
    },
    {
      title: 'a Sentinel as Cluster',
      words: /mode 'sentinel'/,
      connection: () => ({ mode: 'cluster', nodes: [first('sentinel', 'sentinels')] }),
    },
    {
      title: 'a server as Sentinel',
      words: /'sentinels' are no Sentinels/,
      connection: () => ({ mode: 'sentinel', sentinels: [first('standalone')], name: 'main' }),
    },
    {
      title: 'a Cluster node as Sentinel',
      words: /'sentinels' are no Sentinels/,
      connection: () => ({ mode: 'sentinel', sentinels: [first('cluster')], name: 'main' }),
    },
  ])('fails the boot at once: $title', async ({ words, connection }) => {
    for (const startup of ['wait', 'fail-fast']) {
      const { error, elapsed } = await apps.failure({ ...connection(), startup });
      expect(error).toMatchObject({ code: 'ERR_REDIS_CONNECT' });
      expect(error.message).toMatch(words);
      expect(elapsed).toBeLessThan(AT_ONCE);
    }
  });

  it('fails the boot by name when the Sentinels do not know the master', async () => {
    const { error } = await apps.failure({
      ...sharedTopology('sentinel').connection,
      name: 'nobody',
      startup: 'fail-fast',
    });
    expect(error).toMatchObject({ code: 'ERR_REDIS_CONNECT' });
    expect(error.message).toMatch(/'name'/);
  });
});
