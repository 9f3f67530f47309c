import { afterEach, describe, expect, it } from '@jest/globals';
import { startProgram, type Program } from '../../support/child-process.js';
import { eventually } from '../../support/eventually.js';
import { findOverlaps, type Hold } from '../../support/history.js';
import { RedisAdmin } from '../../support/redis-admin.js';
import { connectAdmin, startOwn, startProxies, type FaultProxy, type Mode } from '../../support/topologies.js';
import { complete, crash } from '../failover/failover.js';
import { LONG, print } from '../support/load.js';

const SECTIONS = LONG ? 10_000 : 300;
const CONTENDERS = LONG ? 4 : 3;
const LEASE = 1000;

interface FencedHold extends Hold {
  fence: string;
  /** Whether the resource accepted the write at the beginning, and the one at the end. */
  first: boolean;
  second: boolean;
}

/** A time in which the servers forgot a grant. */
interface Amnesia {
  from: number;
  to: number;
}

const clock = (): number => Number(process.hrtime.bigint()) / 1e6;

class Contest {
  readonly amnesias: Amnesia[] = [];
  readonly #programs: Program[] = [];

  private constructor(
    private readonly data: object,
    readonly own: Awaited<ReturnType<typeof startOwn>>,
    readonly proxies: readonly FaultProxy[],
    readonly admin: RedisAdmin,
    readonly resource: RedisAdmin,
  ) {}

  static async start(mode: Mode, closing: (() => Promise<unknown> | void)[]): Promise<Contest> {
    const own = await startOwn(mode);
    closing.push(() => own.stop());
    const guarded = await startOwn('standalone');
    closing.push(() => guarded.stop());
    const fleet = await startProxies(own.nodes);
    closing.push(() => fleet.close());
    const [admin, resource] = await Promise.all([connectAdmin(own), connectAdmin(guarded)]);
    closing.push(() => (admin.close(), resource.close()));
    const { host, port } = fleet.proxies[0]!;
    // Sentinels name the servers themselves: those are reached directly.
    const connection = mode === 'standalone' ? { mode, host, port } : own.connection;
    const data = { connection, options: {}, resource: guarded.connection, lease: LEASE };
    const contest = new Contest(data, own, fleet.proxies, admin, resource);
    closing.push(() => Promise.all(contest.#programs.map((program) => program.kill())));
    await Promise.all(Array.from({ length: CONTENDERS }, () => contest.enter()));
    return contest;
  }

  async enter(): Promise<void> {
    const program = startProgram(new URL('./programs/contender.ts', import.meta.url), { data: this.data });
    this.#programs.push(program);
    await program.next('ready', { timeout: 60_000 });
  }

  sections(): Promise<number> {
    return this.resource.client.llen('holds');
  }

  async more(count: number): Promise<void> {
    const goal = (await this.sections()) + count;
    await eventually(async () => (await this.sections()) >= goal, { timeout: 60_000, what: 'sections to be entered' });
  }

  /** Stops whoever holds the lock, in the section. */
  async freezeHolder(): Promise<Program> {
    return eventually(
      async () => {
        const pid = await this.#holder();
        const program = this.#programs.find((one) => one.running && one.pid === pid);
        if (program === undefined) return false as never;
        await program.kill('SIGSTOP');
        if ((await this.#holder()) === pid) return program;
        await program.kill('SIGCONT');
        return false as never;
      },
      { timeout: 30_000, interval: 2, what: 'the holder to be frozen' },
    );
  }

  async #holder(): Promise<number | undefined> {
    const token = await this.admin.client.get('chaos:lock:section');
    return token === null ? undefined : Number(/-(\d+)-\w+\|/.exec(token)![1]);
  }

  /** Ends it; gives what everybody believed. */
  async finish(): Promise<FencedHold[]> {
    const running = this.#programs.filter((program) => program.running);
    for (const program of running) program.send({ type: 'stop' });
    const ends = await Promise.all(running.map((program) => program.next('stopped', { timeout: 60_000 })));
    for (const { stats } of ends) expect(stats).toEqual({ held: 0, running: 0, cleaning: 0 });
    expect(await this.admin.client.exists('chaos:lock:section')).toBe(0);
    return (await this.resource.client.lrange('holds', 0, -1)).map((text) => JSON.parse(text) as FencedHold);
  }
}

const faults: Record<string, (contest: Contest) => Promise<unknown>> = {
  'SIGKILL of the holder': async (contest) => {
    await (await contest.freezeHolder()).kill();
    await contest.enter();
  },
  'SIGSTOP of the holder': async (contest) => {
    const frozen = await contest.freezeHolder();
    await contest.more(10);
    await frozen.kill('SIGCONT');
  },
  'lost replies': async ({ proxies: [proxy] }) => {
    const lost = proxy!.bytesLost;
    await proxy!.set('dropDown', { cut: true });
    await eventually(() => proxy!.bytesLost > lost + 20);
    await proxy!.set('pass');
  },
  'lost requests': async ({ proxies: [proxy] }) => {
    const lost = proxy!.bytesLost;
    await proxy!.set('dropUp', { cut: true });
    await eventually(() => proxy!.bytesLost > lost);
    await proxy!.set('pass');
  },
  'CLIENT KILL': ({ admin }) => admin.client.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes'),
  'CLIENT KILL of the wake-ups': ({ admin }) => admin.client.call('CLIENT', 'KILL', 'TYPE', 'pubsub'),
  FLUSHALL: async (contest) => {
    const from = clock();
    await contest.admin.client.flushall();
    contest.amnesias.push({ from, to: clock() });
  },
};

const failover = async (contest: Contest): Promise<void> => {
  await complete(contest.own);
  const from = clock();
  await crash(contest.own, await contest.own.primary());
  // Until it is told that it is a replica now, the old master believes what it always did.
  await complete(contest.own);
  contest.amnesias.push({ from: from - LEASE, to: clock() });
};

/** Holds that the servers knew of when somebody else got the lock. */
function overlaps(holds: readonly FencedHold[], amnesias: readonly Amnesia[]): [Hold, Hold][] {
  return findOverlaps(holds).filter(
    ([earlier]) => !amnesias.some(({ from, to }) => earlier.from <= to && earlier.to >= from),
  );
}

describe('the history of one lock', () => {
  const closing: (() => Promise<unknown> | void)[] = [];
  afterEach(async () => {
    for (const close of closing.splice(0).toReversed()) await close();
  });

  it.each<[Mode, typeof faults]>([
    ['standalone', faults],
    ...(LONG ? (['sentinel', 'cluster'] as const).map((mode): [Mode, typeof faults] => [mode, { failover }]) : []),
  ])(
    'on %s has one holder at a time, and a resource that takes no older fence, whatever happens',
    async (mode, kinds) => {
      const contest = await Contest.start(mode, closing);
      do {
        for (const [name, happen] of Object.entries(kinds)) {
          await contest.more(20);
          const began = clock();
          await happen(contest);
          await contest.more(20);
          print(`${mode}, ${name}: 20 sections later after ${Math.round(clock() - began)} ms`);
        }
      } while ((await contest.sections()) < SECTIONS);
      const holds = await contest.finish();
      print(`${holds.length} sections; ${holds.filter(({ second }) => !second).length} were overtaken`);

      expect(new Set(holds.map(({ fence }) => fence)).size).toBe(holds.length);
      expect(overlaps(holds, contest.amnesias)).toEqual([]);
      // Whoever came later has the higher fence, so that no holder is refused for one before it.
      const inOrder = holds.toSorted((a, b) => Number(BigInt(a.fence) - BigInt(b.fence)));
      inOrder.slice(1).forEach((later, n) => expect(later.to).toBeGreaterThanOrEqual(inOrder[n]!.from));
      // A write is refused only to who has been overtaken by a higher fence, and never accepted after it.
      const accepted = await contest.resource.client.lrange('accepted', 0, -1);
      expect(accepted.map(BigInt)).toEqual(accepted.map(BigInt).toSorted((a, b) => Number(a - b)));
      const overtaken = holds.filter(({ to, second }) => !second && to > 0);
      for (const { fence, to } of overtaken) {
        expect(holds.some((other) => BigInt(other.fence) > BigInt(fence) && other.from >= to - 1)).toBe(true);
      }
      // In a short history the frozen holder may have written all of it before.
      if (LONG && mode === 'standalone') expect(overtaken.length).toBeGreaterThan(0);
    },
    LONG ? 600_000 : 120_000,
  );
});
