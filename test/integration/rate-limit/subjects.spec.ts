import { afterAll, beforeAll, beforeEach, expect, it, jest } from '@jest/globals';
import type { Cluster } from 'ioredis';
import { slotOf } from '../../../libs/redis-patterns/src/keys/index.js';
import { definePolicy, type DefinedPolicy } from '../../../libs/redis-patterns/src/rate-limit/index.js';
import { startProgram } from '../../support/child-process.js';
import { eventually } from '../../support/eventually.js';
import { describeOnEachTopology, startProxies, type PlainConnection } from '../../support/topologies.js';
import { openLimits, type TestLimits } from './test-limits.js';

const HOUR = '1h';

// Two subjects of one call are in two hash slots, and here on two masters of a Cluster.
describeOnEachTopology('rate limits of several subjects in one call', { user: 'rateLimit' }, (topology) => {
  let opened: TestLimits;
  let round = 0;
  let addresses = 0;
  let user: string;
  let ip: string;

  const perUser = definePolicy('user', { algorithm: 'fixed-window', limit: 3, window: HOUR });
  const perIp = definePolicy('ip', { algorithm: 'fixed-window', limit: 5, window: HOUR });
  const key = (name: string, subject: string) => `${topology.namespace}:ratelimit:${name}:{${subject}}`;
  const count = async (name: string, subject: string) => Number(await topology.admin.client.get(key(name, subject)));
  const charge = (policy: DefinedPolicy, subject: string, cost = 1) => ({
    policy: opened.limits.policies.find(policy, 'the spec'),
    cost,
    subject,
  });
  const both = (over = opened) => over.limits.decide([charge(perIp, ip), charge(perUser, user)]);
  const counts = async () => [await count('user', user), await count('ip', ip)];

  beforeAll(async () => {
    opened = await openLimits(topology);
  });
  afterAll(() => opened?.close());
  beforeEach(() => {
    user = `user:${++round}`;
    do ip = `ip:192.0.2.${++addresses}`;
    while (topology.mode === 'cluster' && masterOf(key('ip', ip)).port === masterOf(key('user', user)).port);
  });

  it('charge all or none, whoever refuses', async () => {
    for (let call = 0; call < 3; call++) expect(await both()).toMatchObject({ allowed: true, charged: 1 });
    expect(await both()).toMatchObject({ allowed: false, policy: 'user', violated: ['user'], charged: 0 });
    expect(await counts()).toEqual([3, 3]);
    await opened.limits.reset(perUser, user);
    await opened.limits.consume(perIp, ip, { cost: 2 });
    const refused = await both();
    expect(refused).toMatchObject({ allowed: false, violated: ['ip'] });
    const left = Object.fromEntries(refused.policies.map(({ policy, remaining }) => [policy, remaining]));
    // In a Cluster as it was before the charge was given back.
    expect(left).toEqual({ ip: 0, user: topology.mode === 'cluster' ? 2 : 3 });
    expect(await counts()).toEqual([0, 5]);
  });

  it('admit no more than each limit when many call at once, and forget no charge', async () => {
    const ips = ['a', 'b', 'c'].map((name) => `${ip}:${name}`);
    const wide = definePolicy('wide', { algorithm: 'fixed-window', limit: 20, window: HOUR });
    const calls = Array.from({ length: 60 }, (_, n) =>
      opened.limits.decide([charge(perIp, ips[n % 3]!), charge(wide, user)]),
    );
    const admitted = (await Promise.all(calls)).filter(({ allowed }) => allowed).length;
    expect(admitted).toBeLessThanOrEqual(15);
    expect(admitted).toBeGreaterThan(5);
    expect(await count('wide', user)).toBe(admitted);
    const perAddress = await Promise.all(ips.map((each) => count('ip', each)));
    expect(perAddress.reduce((sum, each) => sum + each)).toBe(admitted);
    expect(Math.max(...perAddress)).toBeLessThanOrEqual(5);
  });

  it('give a charge back in each slot, once', async () => {
    const charges = [charge(perIp, ip, 2), charge(perUser, user, 3)];
    const result = await opened.limits.decide(charges);
    expect(result).toMatchObject({ allowed: true, charged: 3 });
    await opened.limits.refundCharges(charges, result);
    await opened.limits.refundCharges(charges, result);
    expect(await counts()).toEqual([0, 0]);
  });

  it('cost one command, in a Cluster one for each slot, and no more for one subject', async () => {
    const evalsha = jest.spyOn(opened.engine.connection.client, 'evalsha');
    try {
      await both();
      expect(evalsha).toHaveBeenCalledTimes(topology.mode === 'cluster' ? 2 : 1);
      evalsha.mockClear();
      await opened.limits.decide([charge(perUser, user), charge(perIp, user)]);
      expect(evalsha).toHaveBeenCalledTimes(1);
    } finally {
      evalsha.mockRestore();
    }
  });

  it('are over-charged by one call at the most when the process dies in the middle', async () => {
    const { connection, namespace } = topology;
    const file = new URL('./programs/caller.ts', import.meta.url);
    const policies = [
      { ...perUser, limit: 1_000_000 },
      { ...perIp, limit: 2_000_000 },
    ];
    const program = startProgram(file, { data: { connection, namespace } });
    try {
      await program.next('ready');
      program.send({ type: 'pairs', policies, keys: [user, ip] });
      await eventually(() => program.received('pair').length > 50);
      await program.kill('SIGKILL');
      const admitted = program.received('pair').length;
      const [first, second] = (await counts()) as [number, number];
      expect(first - second).toBeGreaterThanOrEqual(0);
      expect(first - second).toBeLessThanOrEqual(topology.mode === 'cluster' ? 1 : 0);
      expect(second).toBeGreaterThanOrEqual(admitted);
      expect(first).toBeLessThanOrEqual(admitted + 1);
    } finally {
      await program.kill();
    }
  });

  it('are decided without Redis by the deadline when one slot does not answer, and the other gets its charge back', async () => {
    const isCluster = topology.mode === 'cluster';
    const fleet = await startProxies(isCluster ? topology.nodes : topology.nodes.slice(0, 1));
    const { username, password } = topology.connection;
    const { host, port } = fleet.proxies[0]!;
    const proxied = isCluster ? { mode: 'cluster', nodes: [{ host, port }] } : { mode: 'standalone', host, port };
    const through = await openLimits(
      { connection: { ...proxied, username, password } as PlainConnection, namespace: topology.namespace },
      { deadline: 150 },
      { closeTimeout: 50, connectTimeout: 10_000, ...(isCluster && { ioredis: { natMap: fleet.natMap } }) },
    );
    try {
      await eventually(async () => (await both(through)).source === 'redis');
      const [before] = await counts();
      const silent = isCluster ? masterOf(key('ip', ip)) : topology.nodes[0]!;
      await fleet.of(silent).set('dropDown');
      const startedAt = performance.now();
      expect(await both(through)).toMatchObject({ allowed: true, source: 'local', charged: 0 });
      expect(performance.now() - startedAt).toBeLessThan(150 + 250);
      await fleet.set('pass', { cut: true });
      await eventually(async () => expect((await counts())[0]).toBe(isCluster ? before : before! + 1));
      expect((await counts())[1]).toBeLessThanOrEqual(before! + 1);
    } finally {
      await through.close();
      await fleet.close();
    }
  });

  /** The master of a key in a Cluster. */
  function masterOf(of: string): { port: number } {
    const address = (topology.admin.client as Cluster).slots[slotOf(of)]![0]!;
    return { port: Number(address.split(':').at(-1)) };
  }
});
