import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { RedisUnavailableError } from '../../../libs/redis-patterns/src/connection/index.js';
import {
  definePolicy,
  RateLimitUnavailableError,
  type RateLimitOptions,
} from '../../../libs/redis-patterns/src/rate-limit/index.js';
import { telemetryChannel } from '../../../libs/redis-patterns/src/telemetry/index.js';
import { eventually } from '../../support/eventually.js';
import {
  connectAdmin,
  startOwn,
  startProxy,
  uniqueNamespace,
  type Mode,
  type Topology,
} from '../../support/topologies.js';
import { openLimits, type TestLimits } from './test-limits.js';

const DEADLINE = 100;
const SLACK = 600;
const POLICIES = {
  local: { limit: 10, window: '1m' },
  open: { limit: 10, window: '1m', onStoreError: 'open' },
  closed: { limit: 10, window: '1m', onStoreError: 'closed' },
} satisfies RateLimitOptions['policies'];

const COUNTING = ['fixed-window', 'sliding-window', 'sliding-log', 'token-bucket'] as const;
/** Each algorithm, decided in this process while Redis cannot. */
const EACH = Object.fromEntries(
  COUNTING.map((algorithm) => [algorithm, { algorithm, limit: 10, window: '1h' } as const]),
);

async function timed<T>(work: () => Promise<T>): Promise<{ value: T; ms: number }> {
  const startedAt = performance.now();
  const value = await work();
  return { value, ms: performance.now() - startedAt };
}

describe.each<Mode>(['standalone', 'sentinel', 'cluster'])('rate limits while %s fails', (mode) => {
  let own: Topology;
  let opened: TestLimits;
  let limits: TestLimits['limits'];
  let masters: Topology['nodes'];

  beforeAll(async () => {
    own = await startOwn(mode, { user: 'rateLimit' });
  });
  afterAll(() => own?.stop());
  beforeEach(async () => {
    // Anew each time: a freeze that took too long has ended in a failover.
    masters = await own.masters();
    const place = { connection: own.connection, namespace: uniqueNamespace() };
    opened = await openLimits(
      place,
      { policies: { ...POLICIES, ...EACH }, deadline: DEADLINE, localShare: 0.5 },
      { closeTimeout: 50 },
    );
    ({ limits } = opened);
    // A busy machine may miss the deadline of the very first call.
    await eventually(async () => (await limits.peek('local', 'warm-up')).source === 'redis');
  });
  afterEach(async () => {
    for (const master of masters) own.resume(master);
    await opened?.close();
  });

  /** Before the failover begins: Sentinels wait longer to declare a master down than these calls take. */
  const freeze = () => masters.forEach((master) => own.freeze(master));

  it('a frozen server is decided without by the deadline, as each policy says', async () => {
    freeze();
    const calls = [limits.consume('local', 'a'), limits.consume('open', 'a'), limits.peek('local', 'b')];
    const closed = limits.consume('closed', 'a').catch((error: unknown) => error);
    const { value, ms } = await timed(() => Promise.all([...calls, closed]));
    expect(ms).toBeLessThan(DEADLINE + SLACK);
    const [local, open, peeked, error] = value;
    expect(local).toMatchObject({ allowed: true, source: 'local', remaining: 4, charged: 0, at: undefined });
    expect(open).toMatchObject({ allowed: true, source: 'open' });
    expect(peeked).toMatchObject({ allowed: true, source: 'local', remaining: 5 });
    expect(error).toBeInstanceOf(RateLimitUnavailableError);
    expect(error).toMatchObject({ code: 'ERR_RATE_LIMIT_UNAVAILABLE', status: 503, retryAfter: 1, policy: 'closed' });
    expect((error as Error).cause).toBeInstanceOf(RedisUnavailableError);
  });

  it('counts in this process whatever the algorithm, and gives back there what is refunded', async () => {
    freeze();
    const charges = COUNTING.map((name) => ({ policy: limits.policies.find(name, 'the spec'), cost: 3, subject: 'f' }));
    const first = await limits.decide(charges);
    expect(first).toMatchObject({ allowed: true, source: 'local', remaining: 2 });
    expect(await limits.decide(charges)).toMatchObject({ allowed: false, source: 'local', violated: [...COUNTING] });
    await limits.refundCharges(charges, first);
    await limits.refundCharges(charges, first);
    expect(await limits.decide(charges)).toMatchObject({ allowed: true, source: 'local', remaining: 2 });
  });

  it('grants the share of this process and no more, and follows Redis again when it is back', async () => {
    const warnings: unknown[] = [];
    const listener = (message: unknown): void => void warnings.push(message);
    subscribe(telemetryChannel('warning'), listener);
    try {
      freeze();
      const results = await Promise.all(Array.from({ length: 20 }, () => limits.consume('local', 'c')));
      expect(results.filter(({ allowed }) => allowed)).toHaveLength(5);
      expect(results.every(({ source }) => source === 'local')).toBe(true);
      expect(results.find(({ allowed }) => !allowed)!.retryAfterMs).toBeGreaterThan(0);
      expect(warnings).toHaveLength(1);
    } finally {
      unsubscribe(telemetryChannel('warning'), listener);
    }
    for (const master of masters) own.resume(master);
    await eventually(async () => (await limits.consume('local', 'd')).source === 'redis');
  });

  it('a call of several policies is closed if one of them is, and counts only local ones', async () => {
    freeze();
    await expect(limits.consume(['open', 'closed', 'local'], 'e')).rejects.toThrow(
      /Rate limit 'closed' cannot be decided/,
    );
    const both = await limits.consume(['open', 'local'], 'e');
    expect(both).toMatchObject({ allowed: true, source: 'local', policy: 'local' });
    expect(both.policies.map(({ remaining }) => remaining)).toEqual([10, 4]);
  });
});

describe('rate limits without a server', () => {
  it('are decided at once when it is killed, and no call hangs', async () => {
    const own = await startOwn('standalone', { user: 'rateLimit' });
    const place = { connection: own.connection, namespace: uniqueNamespace() };
    const opened = await openLimits(place, { policies: POLICIES, deadline: DEADLINE }, { closeTimeout: 50 });
    try {
      const running = Array.from({ length: 50 }, () => opened.limits.consume('local', 'a'));
      await own.kill(own.nodes[0]!);
      const results = await Promise.all(running);
      expect(results.every(({ source }) => source === 'redis' || source === 'local')).toBe(true);
      await eventually(() => opened.engine.connection.client.status !== 'ready');
      const { value, ms } = await timed(() => opened.limits.consume('local', 'b'));
      expect(value.source).toBe('local');
      expect(ms).toBeLessThan(DEADLINE / 2);
      await expect(opened.limits.reset('local', 'b')).rejects.toBeInstanceOf(RedisUnavailableError);
    } finally {
      await opened.close();
      await own.stop();
    }
  });

  it('are not above a limit when it is full: refused writes charge nothing', async () => {
    const own = await startOwn('standalone', { user: 'rateLimit' });
    const place = { connection: own.connection, namespace: uniqueNamespace() };
    const opened = await openLimits(place, { policies: { ...POLICIES, ...EACH } });
    const admin = await connectAdmin(own);
    const { client } = admin;
    try {
      await client.config('SET', 'maxmemory', '1');
      await expect(opened.limits.consume(['open', 'local'], 'a')).resolves.toMatchObject({
        allowed: true,
        source: 'local',
      });
      await expect(opened.limits.consume('closed', 'a')).rejects.toBeInstanceOf(RateLimitUnavailableError);
      const full = await Promise.all(COUNTING.map((name) => opened.limits.consume(name, 'a')));
      expect(full.map(({ source }) => source)).toEqual(COUNTING.map(() => 'local'));
      await client.config('SET', 'maxmemory', '0');
      expect(await client.keys('*')).toEqual([]);
      expect(await opened.limits.consume('open', 'a')).toMatchObject({ source: 'redis', remaining: 9 });
    } finally {
      admin.close();
      await opened.close();
      await own.stop();
    }
  });
});

describe('rate limits on a server that has forgotten the scripts', () => {
  it('send them again', async () => {
    const own = await startOwn('standalone', { user: 'rateLimit' });
    const { limits, close } = await openLimits({ connection: own.connection, namespace: uniqueNamespace() });
    const admin = await connectAdmin(own);
    const api = definePolicy('api', { limit: 10, window: '1m' });
    const jobs = definePolicy('jobs', { algorithm: 'concurrency', limit: 1 });
    try {
      const anew = async <T>(work: () => Promise<T>): Promise<T> => {
        await admin.client.script('FLUSH');
        return work();
      };
      expect(await anew(() => limits.consume(api, 'a', { cost: 3 }))).toMatchObject({ remaining: 7, source: 'redis' });
      await anew(() => limits.refund(api, 'a', { cost: 2 }));
      const lease = await anew(() => limits.acquire(jobs, 'a'));
      await anew(() => lease!.release());
      expect(await limits.peek(jobs, 'a')).toMatchObject({ remaining: 1 });
      await anew(() => limits.block(api, 'a', '1m'));
      expect(await limits.consume(api, 'a')).toMatchObject({ allowed: false, source: 'redis' });
    } finally {
      admin.close();
      await close();
      await own.stop();
    }
  });
});

describe('rate limits over a bad network', () => {
  it('charge a call once at most when its reply is lost', async () => {
    const own = await startOwn('standalone', { user: 'rateLimit' });
    const proxy = await startProxy(own.nodes[0]!);
    const connection = { mode: 'standalone' as const, host: proxy.host, port: proxy.port, ...own.users?.app };
    const namespace = uniqueNamespace();
    const policies = { ...POLICIES, ...EACH };
    const through = await openLimits({ connection, namespace }, { policies, deadline: DEADLINE }, { closeTimeout: 50 });
    const direct = await openLimits({ connection: own.connection, namespace }, { policies });
    try {
      for (const name of COUNTING) {
        await eventually(async () => (await through.limits.consume(name, 'warm-up', { cost: 0 })).source === 'redis');
        await proxy.set('dropDown', { cut: true });
        const results = await Promise.all([1, 2, 3].map(() => through.limits.consume(name, 'a')));
        expect(results.map(({ source }) => source)).toEqual(['local', 'local', 'local']);
        await proxy.set('pass');
        await eventually(async () => (await through.limits.peek(name, 'a')).source === 'redis');
        const { remaining } = await direct.limits.peek(name, 'a');
        expect(remaining).toBeGreaterThanOrEqual(7);
        expect(remaining).toBeLessThan(10);
      }
    } finally {
      await Promise.all([through.close(), direct.close(), proxy.close()]);
      await own.stop();
    }
  });
});
