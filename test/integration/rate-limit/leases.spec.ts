import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  definePolicy,
  RateLimitLeaseLostError,
  RateLimitUnavailableError,
  type Lease,
  type RateLimitService,
} from '../../../libs/redis-patterns/src/rate-limit/index.js';
import { startProgram } from '../../support/child-process.js';
import { eventually } from '../../support/eventually.js';
import { greatestConcurrency, type Hold } from '../../support/history.js';
import { connectAdmin, describeOnEachTopology, startOwn, uniqueNamespace } from '../../support/topologies.js';
import { openLimits, wait, type TestLimits } from './test-limits.js';

describeOnEachTopology('leases of a concurrency policy', { user: 'rateLimit' }, (topology) => {
  let here: TestLimits;
  let there: TestLimits;
  let limits: RateLimitService;
  let subjects = 0;
  let subject: string;

  const three = definePolicy('three', { algorithm: 'concurrency', limit: 3 });
  const short = definePolicy('short', { algorithm: 'concurrency', limit: 1, lease: 300 });
  const key = (name: string) => `${topology.namespace}:ratelimit:${name}:{${subject}}`;
  const held = (name: string) => topology.admin.client.zcard(key(name));

  beforeAll(async () => {
    [here, there] = await Promise.all([openLimits(topology), openLimits(topology)]);
    ({ limits } = here);
  });
  afterAll(() => Promise.all([here?.close(), there?.close()]));
  beforeEach(() => {
    subject = `user:${++subjects}`;
  });

  it('are never more at a time than the limit, over two connections', async () => {
    const holds: Hold[] = [];
    const worker = async (owner: string, over: RateLimitService): Promise<void> => {
      for (let turn = 0; turn < 5; turn++) {
        const lease = await over.acquire(three, subject, { wait: '20s' });
        const from = performance.now();
        await wait(Math.random() * 10);
        holds.push({ owner, from, to: performance.now() });
        await lease!.release();
      }
    };
    await Promise.all(Array.from({ length: 10 }, (_, n) => worker(`w${n}`, (n % 2 === 0 ? here : there).limits)));
    expect(holds).toHaveLength(50);
    expect(greatestConcurrency(holds)).toBeLessThanOrEqual(3);
    expect(await held('three')).toBe(0);
  });

  it('are refused when there is no place, with a hint when to come back, and change nothing then', async () => {
    const all = await limits.acquire(three, subject, { cost: 2 });
    expect(all!.result).toMatchObject({ allowed: true, remaining: 1, charged: 2, source: 'redis' });
    expect(await limits.acquire(three, subject, { cost: 2 })).toBeNull();
    const look = await limits.peek(three, subject, { cost: 2 });
    expect(look).toMatchObject({ allowed: false, remaining: 1, retryable: true });
    expect(look.retryAfterMs).toBeLessThanOrEqual(30_000);
    expect(await held('three')).toBe(2);
    expect(await limits.acquire(three, subject, { cost: 4 })).toBeNull();
    const ttl = await topology.admin.client.pttl(key('three'));
    expect([ttl > 0, ttl <= 30_001]).toEqual([true, true]);
    await all!.release();
    await all!.release();
    expect(await topology.admin.client.exists(key('three'))).toBe(0);
    const again = await limits.acquire(three, subject, { cost: 3 });
    expect(again).not.toBeNull();
    await again![Symbol.asyncDispose]();
  });

  it('are renewed while they are held, and end with the holder', async () => {
    const lease = await limits.acquire(short, subject);
    await wait(800);
    expect(lease!.signal.aborted).toBe(false);
    expect(await there.limits.acquire(short, subject)).toBeNull();
    await lease!.release();
    const next = await there.limits.acquire(short, subject);
    expect(next).not.toBeNull();
    await next!.release();
  });

  it('tell their holder when they are lost', async () => {
    const lease = await limits.acquire(short, subject);
    await limits.reset(short, subject);
    const other = await there.limits.acquire(short, subject);
    await eventually(() => lease!.signal.aborted);
    expect(lease!.signal.reason).toBeInstanceOf(RateLimitLeaseLostError);
    // What is given back is one's own place, and not that of the one who has it now.
    await lease!.release();
    expect(await held('short')).toBe(1);
    await other!.release();
  });

  it('of a process that was killed end with the lease, and not before', async () => {
    const { connection, namespace } = topology;
    const program = startProgram(new URL('./programs/caller.ts', import.meta.url), { data: { connection, namespace } });
    try {
      await program.next('ready');
      program.send({ type: 'hold', policy: { ...short, lease: 500 }, key: subject });
      await program.next('held');
      await program.kill('SIGKILL');
      expect(await limits.acquire(short, subject)).toBeNull();
      const lease = await limits.acquire(short, subject, { wait: '5s' });
      expect(lease).not.toBeNull();
      await lease!.release();
    } finally {
      await program.kill();
    }
  });

  it('stand beside other policies in one call: all or none', async () => {
    const api = definePolicy('beside', { limit: 2, window: '1m' });
    const policy = (given: typeof api | typeof short) => limits.policies.find(given, 'the spec');
    const charges = [api, short].map((each) => ({ policy: policy(each), cost: 1, subject }));
    const first = await limits.hold(charges);
    expect(first.result).toMatchObject({ allowed: true });
    expect(await limits.hold(charges)).toMatchObject({ lease: null, result: { violated: ['short'] } });
    expect(await limits.peek(api, subject)).toMatchObject({ remaining: 1 });
    await first.lease!.release();
    await limits.refundCharges(charges, first.result);
    expect(await limits.peek(api, subject)).toMatchObject({ remaining: 2 });
    await expect(limits.decide(charges)).rejects.toThrow(/use acquire\(\)/);
  });

  it('are given back when the application ends', async () => {
    const other = await openLimits(topology);
    await other.limits.acquire(three, subject);
    expect(await held('three')).toBe(1);
    await other.close();
    expect(await held('three')).toBe(0);
  });
});

describe('leases while Redis fails', () => {
  it('that were granted too late, so that nobody knows of them, are given back', async () => {
    const own = await startOwn('standalone', { user: 'rateLimit' });
    const admin = await connectAdmin(own);
    const place = { connection: own.connection, namespace: uniqueNamespace() };
    const opened = await openLimits(place, { deadline: 100, onStoreError: 'closed' }, { closeTimeout: 50 });
    const long = definePolicy('long', { algorithm: 'concurrency', limit: 4, lease: '1h' });
    const granted = () => admin.client.zcard(`${place.namespace}:ratelimit:long:{a}`);
    try {
      await eventually(async () => (await opened.limits.peek(long, 'a')).source === 'redis');
      own.freeze(own.nodes[0]!);
      await expect(opened.limits.acquire(long, 'a', { cost: 2 })).rejects.toBeInstanceOf(RateLimitUnavailableError);
      own.resume(own.nodes[0]!);
      await eventually(async () => {
        const stats = await admin.client.info('commandstats');
        expect(stats).toMatch(/cmdstat_zrem:calls=[1-9]/);
      });
      await eventually(async () => expect(await granted()).toBe(0));
    } finally {
      own.resume(own.nodes[0]!);
      admin.close();
      await opened.close();
      await own.stop();
    }
  });

  it('are counted as the policy says, and abort when they cannot be renewed', async () => {
    const own = await startOwn('standalone', { user: 'rateLimit' });
    const place = { connection: own.connection, namespace: uniqueNamespace() };
    const opened = await openLimits(place, { deadline: 100, localShare: 0.5 }, { closeTimeout: 50 });
    const { limits } = opened;
    const local = definePolicy('local', { algorithm: 'concurrency', limit: 4, lease: 300 });
    try {
      const before = await limits.acquire(local, 'a');
      own.freeze(own.nodes[0]!);
      const startedAt = performance.now();
      await eventually(() => before!.signal.aborted);
      // Before its place can be given to somebody else, and with room for a machine that is busy.
      expect(performance.now() - startedAt).toBeLessThan(1000);
      const leases: (Lease | null)[] = [];
      for (let call = 0; call < 3; call++) leases.push(await limits.acquire(local, 'b'));
      expect(leases.map((lease) => lease?.result.source)).toEqual(['local', 'local', undefined]);
      await leases[0]!.release();
      expect(await limits.acquire(local, 'b')).not.toBeNull();
    } finally {
      own.resume(own.nodes[0]!);
      await opened.close();
      await own.stop();
    }
  });
});
