import { afterEach, expect, it } from '@jest/globals';
import { startProgram, type Program } from '../../support/child-process.js';
import { eventually } from '../../support/eventually.js';
import { describeOn, describeOnEachTopology, type SharedTopology } from '../../support/topologies.js';
import type { ConsumerSetup } from './programs/consumer.js';
import { openStreams, range, sorted, type TestStreams } from './test-streams.js';

const LEASE = 1000;

/** A namespace and the processes that consume in it. */
class Crew {
  readonly programs: Program[] = [];

  private constructor(
    readonly streams: TestStreams,
    private readonly topology: SharedTopology,
  ) {}

  static async gather(topology: SharedTopology): Promise<Crew> {
    return new Crew(await openStreams(topology.connection, await topology.newNamespace()), topology);
  }

  async start(name: string, setup: Partial<ConsumerSetup> = {}): Promise<Program> {
    const { connection } = this.topology;
    const options = { concurrency: 5, prefetch: 5, lease: LEASE, ...setup.options };
    const data: ConsumerSetup = { connection, namespace: this.streams.namespace, name, takes: 1, ...setup, options };
    const program = startProgram(new URL('./programs/consumer.ts', import.meta.url), { data });
    this.programs.push(program);
    await program.next('ready');
    return program;
  }

  publish(payloads: readonly unknown[]): Promise<unknown> {
    return this.streams.producer.publishMany(
      'work',
      payloads.map((payload) => ({ payload })),
    );
  }

  /** Payloads of all messages of a type, in the order in which they came. */
  bodies(type: string, programs: readonly Program[] = this.programs): unknown[] {
    return programs.flatMap((program) => program.received(type)).map(({ body }) => body);
  }

  async pending(): Promise<number> {
    return (await this.streams.admin.pending('work', 'g'))!.count;
  }

  nothingPends(): Promise<void> {
    return eventually(async () => expect(await this.pending()).toBe(0), { timeout: 10_000 });
  }

  async dismiss(): Promise<void> {
    await Promise.all(this.programs.map((program) => program.kill()));
    await this.streams.close();
  }
}

const crews: Crew[] = [];
afterEach(async () => {
  await Promise.all(crews.splice(0).map((crew) => crew.dismiss()));
});
async function gather(topology: SharedTopology): Promise<Crew> {
  const crew = await Crew.gather(topology);
  crews.push(crew);
  return crew;
}

/** SIGKILL in the middle of a batch: five run and others are buffered, and all die. */
async function killed(crew: Crew): Promise<void> {
  const victim = await crew.start('victim', { takes: 'forever' });
  await crew.publish(range(20));
  await victim.next('begin', { count: 5 });
  await eventually(async () => expect(await crew.pending()).toBeGreaterThan(7));
  const starting = crew.start('heir');
  await victim.kill('SIGKILL');
  const killedAt = performance.now();
  const heir = await starting;
  await eventually(() => expect(new Set(crew.bodies('end', [heir]))).toEqual(new Set(range(20))), { timeout: 20_000 });
  expect(performance.now() - killedAt).toBeLessThan(12_000);
  await crew.nothingPends();
  expect(crew.bodies('end', [heir])).toHaveLength(20);
  expect(await crew.streams.admin.deadLetters('work', 'g').list()).toEqual([]);
}

/** Handlers that take three leases. */
async function long(crew: Crew): Promise<void> {
  await Promise.all(['one', 'two'].map((name) => crew.start(name, { takes: 3 * LEASE })));
  await crew.publish(range(5));
  await eventually(() => expect(crew.bodies('end')).toHaveLength(5), { timeout: 20_000 });
  await crew.nothingPends();
  expect(sorted(crew.bodies('begin'))).toEqual(range(5));
  const ends = crew.programs.flatMap((program) => program.received('end'));
  expect(ends.filter(({ aborted }) => aborted)).toEqual([]);
}

/** SIGSTOP for longer than the lease; then it wakes, and its handler fails. */
async function stopped(crew: Crew): Promise<void> {
  const frozen = await crew.start('frozen', { takes: 2000, fails: true });
  await crew.publish([1]);
  await frozen.next('begin');
  await frozen.kill('SIGSTOP');
  const heir = await crew.start('heir');
  await eventually(() => expect(crew.bodies('end', [heir])).toEqual([1]), { timeout: 20_000 });
  expect(heir.received('begin')[0]).toMatchObject({ attempt: 1, deliveries: 2 });
  await crew.nothingPends();
  await frozen.kill('SIGCONT');
  // Its failure comes too late to count: there is no retry, and no dead letter. It goes on as a consumer.
  await frozen.next('end');
  await heir.kill();
  await crew.publish([2]);
  await eventually(() => expect(crew.bodies('begin', [frozen]).slice(0, 2)).toEqual([1, 2]), { timeout: 10_000 });
  expect(await crew.streams.admin.lag('work', 'g')).toMatchObject({ deadLetters: 0 });
  expect(crew.bodies('begin', [frozen]).filter((body) => body === 1)).toHaveLength(1);
}

describeOnEachTopology('the consumers of several processes', { user: 'stream' }, (topology) => {
  it('lose nothing to SIGKILL, run no message twice at a time however long it takes, and do no harm after SIGSTOP', async () => {
    const [first, second, third] = await Promise.all(range(3).map(() => gather(topology)));
    await Promise.all([killed(first!), long(second!), stopped(third!)]);
  }, 60_000);
});

describeOn('standalone', 'the consumers of several processes', { user: 'stream' }, (topology) => {
  it('end a message that kills them as a dead letter, and take no other message with it', async () => {
    const crew = await gather(topology);
    await crew.publish(['a', 'killer', 'b', 'c']);
    const done = new Set<unknown>();
    const options = { concurrency: 5, prefetch: 5, lease: LEASE, maxDeliveries: 4 };
    const list = () => crew.streams.admin.deadLetters('work', 'g').list();
    let starts = 0;
    let current: Program | undefined;
    await eventually(
      async () => {
        if (current === undefined || !current.running) {
          starts++;
          current = undefined;
          // It may die before it can say that it is ready.
          current = await crew.start(`life ${starts}`, { options }).catch(() => undefined);
        }
        for (const body of crew.bodies('end')) done.add(body);
        expect(await list()).toHaveLength(1);
        expect(done).toEqual(new Set(['a', 'b', 'c']));
      },
      { timeout: 40_000, interval: 50 },
    );
    expect(await list()).toMatchObject([{ body: 'killer', reason: 'max-deliveries', deliveries: 4 }]);
    expect(starts).toBe(5);
    await crew.nothingPends();
  }, 60_000);
});
