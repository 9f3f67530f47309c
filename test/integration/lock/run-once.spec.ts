import { Injectable } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { LockService, RedisPatternsModule, RunOnce, RunOnceService } from 'nestjs-redis-patterns';
import { startProgram, type Program } from '../../support/child-process.js';
import { eventually } from '../../support/eventually.js';
import { loseReply } from '../../support/lose-reply.js';
import { describeOn, describeOnEachTopology, useOwn } from '../../support/topologies.js';
import { openLocksBehindProxy, type CleanUps } from './behind-proxy.js';

const cleanUps: CleanUps = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp();
});

@Injectable()
class Jobs {
  runs: string[] = [];

  @RunOnce({ name: 'daily', per: (now) => now.toISOString().slice(0, 4) })
  async daily(): Promise<string | undefined> {
    this.runs.push('daily');
    return 'ran';
  }

  @RunOnce({ name: 'slow', per: 100, tolerance: 99 })
  async slow(work: () => Promise<void>): Promise<void> {
    this.runs.push('slow');
    await work();
  }

  @RunOnce({ name: 'failing', per: '1h' })
  async failing(error: Error): Promise<void> {
    throw error;
  }
}

describeOnEachTopology('@RunOnce', { user: 'lock' }, (topology) => {
  let module: TestingModule;
  let jobs: Jobs;
  let runs: RunOnceService;
  beforeAll(async () => {
    const { connection, namespace } = topology;
    const imports = [RedisPatternsModule.forRoot({ namespace, connection })];
    module = await Test.createTestingModule({ imports, providers: [Jobs] }).compile();
    await module.init();
    jobs = module.get(Jobs);
    runs = module.get(RunOnceService);
  });
  afterAll(() => module.close());

  it('runs a slot once, tells the others that it was skipped, and repeats no run that failed', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => jobs.daily()));
    expect(answers.filter((answer) => answer === 'ran')).toHaveLength(1);
    expect(jobs.runs.filter((run) => run === 'daily')).toHaveLength(1);
    const error = new Error('the report failed');
    await expect(jobs.failing(error)).rejects.toBe(error);
    await expect(jobs.failing(error)).resolves.toBeUndefined();
  });

  it('gives a slot to one of many claims, and every key an end', async () => {
    const claims = (options: Parameters<RunOnceService['claim']>[1]) =>
      Promise.all(Array.from({ length: 20 }, () => runs.claim('claimed', options)));
    const count = (answers: boolean[]) => answers.filter(Boolean).length;
    expect(count(await claims({ per: () => 7 }))).toBe(1);
    expect(count(await claims({ per: () => 8, retention: '1m' }))).toBe(1);
    expect(count(await claims({ per: '1h' }))).toBe(1);
    const { admin, namespace } = topology;
    const ttl = async (key: string) => Math.round((await admin.client.pttl(key)) / 60_000);
    expect(await ttl(`${namespace}:runonce:{claimed}:7`)).toBe(24 * 60);
    expect(await ttl(`${namespace}:runonce:{claimed}:8`)).toBe(1);
    expect(await ttl(`${namespace}:runonce:{claimed}`)).toBe(54);
    // Who is refused changes nothing, or a slot that many ask for would never end.
    const token = await admin.client.get(`${namespace}:runonce:{claimed}`);
    expect(await runs.claim('claimed', { per: '1h' })).toBe(false);
    expect(await admin.client.get(`${namespace}:runonce:{claimed}`)).toBe(token);
  });

  it('skips a run while the one before still runs, and its slot can be had afterwards', async () => {
    let end!: () => void;
    const first = jobs.slow(() => new Promise((resolve) => (end = resolve)));
    await eventually(() => jobs.runs.includes('slow'));
    const key = `${topology.namespace}:runonce:{slow}`;
    await eventually(async () => expect(await topology.admin.client.exists(key)).toBe(0));
    await jobs.slow(async () => undefined);
    expect(jobs.runs.filter((run) => run === 'slow')).toHaveLength(1);
    expect(await topology.admin.client.exists(key)).toBe(0);
    end();
    await first;
    await jobs.slow(async () => undefined);
    expect(jobs.runs.filter((run) => run === 'slow')).toHaveLength(2);
    expect(await module.get(LockService).inspect(['runonce', 'slow'])).toBeNull();
  });

  it.each([
    [{ per: '1h', tolerance: '1h' }, /tolerance: must be shorter than 'per' \(1h\)/],
    [{ per: () => 1, tolerance: '1s' }, /tolerance: is only for a 'per' that is a duration/],
    [{ per: '1h', retention: '1d' }, /retention: is only for a 'per' that is a function/],
    [
      { per: 'daily' },
      /per: must be a function of the server's time that names the slot, or 'daily' is not a duration/,
    ],
    [{ per: () => '' }, /per: gave '' for this run/],
  ])('refuses options that contradict themselves: %#', async (options, message) => {
    await expect(runs.claim('refused', options as never)).rejects.toThrow(message);
  });
});

it('is refused twice on a method when the class is defined', () => {
  const define = (): void => {
    class Twice {
      @RunOnce({ name: 'outer', per: '1h' })
      @RunOnce({ name: 'inner', per: '1d' })
      async run(): Promise<void> {}
    }
    void Twice;
  };
  expect(define).toThrow(/@RunOnce stands twice on Twice\.run/);
});

// The clocks of the processes are what matters, not the deployment.
describeOn('standalone', '@RunOnce in several processes', { user: 'lock' }, (topology) => {
  it('runs each instant once in two processes whose clocks differ by an hour and 300 ms', async () => {
    const { connection, namespace } = topology;
    const INSTANTS = 4;
    const programs = [0, 3_600_300].map((skewMs): Program => {
      const data = { connection, namespace, skewMs, instants: INSTANTS };
      const program = startProgram(new URL('./programs/scheduled.ts', import.meta.url), { data });
      cleanUps.push(() => program.kill());
      return program;
    });
    await Promise.all(programs.map((program) => program.next('ready', { timeout: 30_000 })));
    for (const program of programs) program.send({ type: 'start' });
    const ended = await Promise.all(programs.map((program) => program.next('done', { timeout: 30_000 })));
    const all = ended.flatMap(({ runs: found }) => found as { job: string; instant: number }[]);
    for (const job of ['by-slot', 'by-distance']) {
      const instants = all.filter((run) => run.job === job).map(({ instant }) => instant);
      expect(new Set(instants).size).toBe(instants.length);
      expect(instants.length).toBeGreaterThanOrEqual(INSTANTS);
    }
  }, 60_000);
});

describe('@RunOnce and Redis in trouble', () => {
  it('knows a claim again whose reply was lost', async () => {
    const { open, admin, proxy } = await openLocksBehindProxy(cleanUps);
    const runs = new RunOnceService(open.engine.context);
    await runs.claim('warm-up', { per: () => 1 });
    const claimed = async (): Promise<boolean> => (await admin.client.exists('shop:runonce:{lost}')) === 1;
    expect(await loseReply(proxy, () => runs.claim('lost', { per: '1h' }), claimed)).toBe(true);
    expect(await runs.claim('lost', { per: '1h' })).toBe(false);
  });

  describe('that is gone', () => {
    const own = useOwn('standalone', { user: 'lock' });

    @Injectable()
    class Outage {
      @RunOnce({ name: 'throw', per: '1h', overlap: true })
      async throws(): Promise<void> {}

      @RunOnce({ name: 'skip', per: '1h', onUnavailable: 'skip' })
      async skips(): Promise<string | undefined> {
        return 'ran';
      }

      @RunOnce({ name: 'run', per: '1h', onUnavailable: 'run' })
      async runs(): Promise<string | undefined> {
        return 'ran';
      }
    }

    it('does what onUnavailable says', async () => {
      const { topology } = own;
      const imports = [RedisPatternsModule.forRoot({ namespace: 'shop', connection: topology.connection })];
      const module = await Test.createTestingModule({ imports, providers: [Outage] }).compile();
      module.useLogger(false);
      await module.init();
      cleanUps.push(() => module.close());
      await topology.kill(await topology.primary());
      const jobs = module.get(Outage);
      const answers = await Promise.allSettled([jobs.throws(), jobs.skips(), jobs.runs()]);
      expect(answers[0]).toMatchObject({ status: 'rejected', reason: { code: 'ERR_LOCK_UNAVAILABLE' } });
      expect(answers.slice(1)).toEqual([
        { status: 'fulfilled', value: undefined },
        { status: 'fulfilled', value: 'ran' },
      ]);
    }, 20_000);
  });
});
