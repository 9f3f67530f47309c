import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { LeaderElectionService, LockLostError, type Campaign, type LeaderTerm } from 'nestjs-redis-patterns';
import { startProgram, type Program } from '../../support/child-process.js';
import { eventually } from '../../support/eventually.js';
import { describeOn, describeOnEachTopology, useOwn } from '../../support/topologies.js';
import { openService, type OpenService } from './open-service.js';

const programs: Program[] = [];
const cleanUps: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  await Promise.all(programs.splice(0).map((program) => program.kill()));
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp();
});

/** What a campaign tells, in order. */
function record(campaign: Campaign, log: string[] = [], name = ''): string[] {
  for (const event of ['elected', 'revoked'] as const) campaign.on(event, () => log.push(`${name}${event}`));
  return log;
}

describeOnEachTopology('leader election', { user: 'lock' }, (topology) => {
  let opened: OpenService<LeaderElectionService>[];
  beforeAll(async () => {
    opened = await Promise.all([1, 2, 3].map(() => openService(LeaderElectionService, topology)));
  });
  afterAll(() => Promise.all(opened.map((each) => each.close())));

  it('elects one of many, and hands over at once when it resigns', async () => {
    const log: string[] = [];
    const campaigns = opened.map(({ service }, n) => {
      const campaign = service.campaign('one', { lease: '20s' });
      record(campaign, log, `${n} `);
      return campaign;
    });
    const leaders = () => campaigns.filter(({ isLeader }) => isLeader);
    const fences: bigint[] = [];
    for (let left = campaigns.length; left > 0; left--) {
      await eventually(() => expect(leaders()).toHaveLength(1));
      await eventually(async () =>
        expect(await opened[0]!.service.inspect('one')).toMatchObject({ waiting: left - 1 }),
      );
      const [leader] = leaders();
      const { term } = leader!;
      fences.push(term!.fence);
      const began = performance.now();
      await leader!.resign();
      expect(leader!.isLeader).toBe(false);
      expect(term!.signal.aborted).toBe(true);
      if (left > 1) await eventually(() => expect(leaders()).toHaveLength(1), { interval: 1 });
      // By a message: a heartbeat comes after a second and a half at the earliest, and the lease is far longer.
      expect(performance.now() - began).toBeLessThan(1200);
    }
    expect(await opened[0]!.service.inspect('one')).toBeNull();
    expect(fences).toEqual([...new Set(fences)].toSorted((a, b) => (a < b ? -1 : 1)));
    // One after the other: each is revoked before the next is elected.
    expect(log.map((entry) => entry.slice(2))).toEqual([
      'elected',
      'revoked',
      'elected',
      'revoked',
      'elected',
      'revoked',
    ]);
    expect(await topology.admin.keys(`${topology.namespace}:leader:*`)).toEqual([]);
  });

  it('is elected anew after it has lost the lead, with a new signal and a higher fence', async () => {
    const campaign = opened[0]!.service.campaign('again', { lease: 600 });
    const terms: LeaderTerm[] = [];
    campaign.on('elected', (term) => terms.push(term));
    campaign.on('elected', () => {
      throw new Error('a listener that fails changes nothing');
    });
    const log = record(campaign);
    await eventually(() => expect(terms).toHaveLength(1));
    await topology.admin.client.del(campaign.key);
    await eventually(() => expect(terms).toHaveLength(2));
    expect(log).toEqual(['elected', 'revoked', 'elected']);
    expect(terms[0]!.signal.reason).toBeInstanceOf(LockLostError);
    expect(terms[1]!.signal.aborted).toBe(false);
    expect(terms[1]!.fence > terms[0]!.fence).toBe(true);
    await campaign.resign();
    expect(terms[1]!.signal.aborted).toBe(true);
  });
});

// What stands still or dies is a process, whatever the deployment.
describeOn('standalone', 'leaders of several processes', { user: 'lock' }, (topology) => {
  it('never shows two leaders whose fences a guarded resource would both accept', async () => {
    const { connection, namespace, admin } = topology;
    const data = { connection, namespace, admin: admin.connection };
    const start = async (): Promise<Program> => {
      const program = startProgram(new URL('./programs/candidate.ts', import.meta.url), { data });
      programs.push(program);
      await program.next('ready', { timeout: 30_000 });
      return program;
    };
    const candidates = await Promise.all([start(), start(), start(), start()]);
    const terms = (program: Program) => program.received('elected').length;
    const leads = (program: Program) => program.running && terms(program) > program.received('revoked').length;
    const leader = (others: readonly Program[]) =>
      eventually(() => others.find(leads) ?? false, { timeout: 20_000, what: 'a leader' }) as Promise<Program>;
    const log = `${namespace}:{leaders}`;
    const writes = async () => (await admin.client.lrange(log, 0, -1)).map((line) => line.split(' '));
    const written = (program: Program, after: number) =>
      eventually(async () => (await writes()).slice(after).some(([, pid]) => Number(pid) === program.pid), {
        timeout: 20_000,
      });

    // Stands still for longer than its lease, while another is elected and writes.
    const stopped = await leader(candidates);
    await written(stopped, 0);
    await stopped.kill('SIGSTOP');
    const others = candidates.filter((candidate) => candidate !== stopped);
    const second = await leader(others);
    await written(second, 0);
    await stopped.kill('SIGCONT');
    await stopped.next('revoked', { timeout: 20_000 });
    // Dies.
    const before = (await writes()).length;
    await second.kill('SIGKILL');
    const rest = candidates.filter((candidate) => candidate !== second);
    await written(await leader(rest), before);
    for (const program of rest) program.send({ type: 'stop' });
    const counts = await Promise.all(rest.map((program) => program.next('stopped', { timeout: 20_000 })));

    const all = await writes();
    const owners = new Map<string, Set<string>>();
    for (const [fence, pid] of all) owners.set(fence!, (owners.get(fence!) ?? new Set()).add(pid!));
    // Three terms at least; each fence is of one process, and none is accepted after a newer one.
    expect(owners.size).toBeGreaterThanOrEqual(3);
    expect([...owners.values()].filter((pids) => pids.size > 1)).toEqual([]);
    const fences = all.map(([fence]) => BigInt(fence!));
    expect(fences.every((fence, n) => n === 0 || fence >= fences[n - 1]!)).toBe(true);
    expect(counts.length).toBe(3);
  }, 90_000);
});

describe('a leader whose Redis is frozen', () => {
  const own = useOwn('standalone', { user: 'lock' });

  it('is revoked while a fifth of its lease is left, and comes back when Redis does', async () => {
    const { topology } = own;
    const LEASE = 2000;
    const open = await openService(LeaderElectionService, { connection: topology.connection, namespace: 'shop' });
    cleanUps.push(() => open.close());
    const campaign = open.service.campaign('frozen', { lease: LEASE });
    const revokedAt = new Promise<number>((resolve) => campaign.on('revoked', () => resolve(performance.now())));
    await eventually(() => campaign.isLeader);
    const node = await topology.primary();
    const left = await own.admin.client.pttl(campaign.key);
    const asked = performance.now();
    topology.freeze(node);
    cleanUps.push(() => topology.resume(node));
    const at = await revokedAt;
    topology.resume(node);
    expect(campaign.isLeader).toBe(false);
    // What was left then, and at most one renewal that was under way, less a fifth.
    expect(at - asked).toBeLessThan(Math.max(left, LEASE) - LEASE / 5 + 100);
    await eventually(() => campaign.isLeader, { timeout: 10_000 });
    await open.close();
    expect(campaign.isLeader).toBe(false);
    expect(await own.admin.keys('shop:leader:*')).toEqual([]);
  }, 30_000);
});
