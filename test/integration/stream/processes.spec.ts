import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { startProgram, type Program } from '../../support/child-process.js';
import { eventually } from '../../support/eventually.js';
import { describeOnEachTopology } from '../../support/topologies.js';
import type { ConsumerSetup } from './programs/consumer.js';
import { openStreams, range, sorted, type TestStreams } from './test-streams.js';

const LEASE = 1000;

describeOnEachTopology('the consumers of several processes', { user: 'stream' }, (topology) => {
  let streams: TestStreams;
  let programs: Program[];

  beforeEach(async () => {
    streams = await openStreams(topology.connection, await topology.newNamespace());
    programs = [];
  });
  afterEach(async () => {
    await Promise.all(programs.map((program) => program.kill()));
    await streams.close();
  });

  const start = (name: string, setup: Partial<ConsumerSetup> = {}): Program => {
    const { connection } = topology;
    const options = { concurrency: 5, prefetch: 5, lease: LEASE, ...setup.options };
    const data: ConsumerSetup = { connection, namespace: streams.namespace, name, takes: 1, ...setup, options };
    const program = startProgram(new URL('./programs/consumer.ts', import.meta.url), { data });
    programs.push(program);
    return program;
  };
  const bodies = (program: Program, type: string): unknown[] => program.received(type).map(({ body }) => body);
  const nothingPends = () =>
    eventually(async () => expect((await streams.admin.pending('work', 'g'))!.count).toBe(0), { timeout: 10_000 });

  it('lose nothing when one is killed in the middle of a batch: another finishes it', async () => {
    const victim = start('victim', { takes: 'forever' });
    await victim.next('ready');
    await streams.producer.publishMany(
      'work',
      range(20).map((payload) => ({ payload })),
    );
    await victim.next('begin', { count: 5 });
    // Five run and others are buffered: all die with it.
    await eventually(async () => expect((await streams.admin.pending('work', 'g'))!.count).toBeGreaterThan(7));
    await victim.kill('SIGKILL');
    const killedAt = performance.now();
    const heir = start('heir');
    await eventually(() => expect(new Set(bodies(heir, 'end'))).toEqual(new Set(range(20))), { timeout: 15_000 });
    expect(performance.now() - killedAt).toBeLessThan(8000);
    await nothingPends();
    expect(bodies(heir, 'end')).toHaveLength(20);
    expect(await streams.admin.deadLetters('work', 'g').list()).toEqual([]);
  });

  it('never run a message at the same time, however long its handler takes', async () => {
    const [one, two] = [start('one', { takes: 3 * LEASE }), start('two', { takes: 3 * LEASE })];
    await Promise.all([one.next('ready'), two.next('ready')]);
    await streams.producer.publishMany(
      'work',
      range(5).map((payload) => ({ payload })),
    );
    const ended = () => [...bodies(one, 'end'), ...bodies(two, 'end')];
    await eventually(() => expect(ended()).toHaveLength(5), { timeout: 15_000 });
    await nothingPends();
    const begun = [...bodies(one, 'begin'), ...bodies(two, 'begin')];
    expect(sorted(begun)).toEqual(range(5));
    expect([...one.received('end'), ...two.received('end')].filter(({ aborted }) => aborted)).toEqual([]);
  });

  it('take over from one that stands still, whose late runs can do no harm', async () => {
    const frozen = start('frozen', { takes: 300 });
    await frozen.next('ready');
    await streams.producer.publish('work', 1);
    await frozen.next('begin');
    await frozen.kill('SIGSTOP');
    const heir = start('heir');
    await eventually(() => expect(bodies(heir, 'end')).toEqual([1]), { timeout: 10_000 });
    expect(heir.received('begin')[0]).toMatchObject({ deliveries: 2 });
    await nothingPends();
    await frozen.kill('SIGCONT');
    // It ends its run, acknowledges what is acknowledged, and goes on as a consumer.
    await frozen.next('end');
    await heir.kill();
    await streams.producer.publish('work', 2);
    await eventually(() => expect(bodies(frozen, 'end')).toEqual([1, 2]), { timeout: 10_000 });
    await nothingPends();
  });

  it('end a message that kills them as a dead letter, and take no other message with it', async () => {
    await streams.producer.publishMany(
      'work',
      ['a', 'killer', 'b', 'c'].map((payload) => ({ payload })),
    );
    const done = new Set<unknown>();
    const options = { concurrency: 5, prefetch: 5, lease: LEASE, maxDeliveries: 4 };
    const list = () => streams.admin.deadLetters('work', 'g').list();
    let starts = 0;
    let current: Program | undefined;
    await eventually(
      async () => {
        if (current === undefined || !current.running) current = start(`life ${++starts}`, { options });
        for (const program of programs) for (const body of bodies(program, 'end')) done.add(body);
        expect(await list()).toHaveLength(1);
        expect(done).toEqual(new Set(['a', 'b', 'c']));
      },
      { timeout: 25_000, interval: 50 },
    );
    expect(await list()).toMatchObject([{ body: 'killer', reason: 'max-deliveries', deliveries: 4 }]);
    expect(starts).toBe(5);
    await nothingPends();
  });
});
