import { afterEach, expect, it } from '@jest/globals';
import type { Program } from '../../support/child-process.js';
import { eventually } from '../../support/eventually.js';
import { describeOnEachTopology } from '../../support/topologies.js';
import { KeyCrew, LEASE } from './key-crew.js';

const PATIENCE = { timeout: 60_000 };

describeOnEachTopology('the history of keys', { user: 'stream' }, (topology) => {
  const crews: KeyCrew[] = [];
  afterEach(async () => {
    await Promise.all(crews.splice(0).map((crew) => crew.dismiss()));
  }, 30_000);
  async function gather(): Promise<KeyCrew> {
    const crew = await KeyCrew.gather(topology);
    crews.push(crew);
    return crew;
  }

  it('has each start in its order and no two at once, while consumers die, leave and join', async () => {
    const crew = await gather();
    const [first, second] = await Promise.all([crew.start(), crew.start(), crew.start()]);
    const stop = crew.publishOn();
    await crew.more(60);
    // In the middle of something: the keys of that wait for its leases, the others go on.
    await crew.kill(first);
    await crew.more(40);
    const joining = crew.start();
    second.send({ type: 'drain' });
    await Promise.all([joining, second.exited({ timeout: 60_000 })]);
    await crew.kill(await joining);
    await crew.more(60);
    await stop();
    expect(await crew.verdict()).toEqual([]);
  }, 180_000);

  it('changes nothing by the hand of a process that stood still while another one took over', async () => {
    const crew = await gather();
    const { admin } = crew.streams;
    // Longer than the machine ever keeps a process waiting.
    const lease = 2 * LEASE;
    const victim = await crew.start({ concurrency: 2, lease });
    await crew.publish('told', { holds: 'told' });
    await crew.publish('aborted', { holds: 'aborted' });
    await victim.next('begin', { count: 2 });
    // The victim has the first one of each of these waiting when it is stopped.
    const waiting = ['x', 'y', 'z'];
    for (const key of waiting) for (let n = 0; n < 2; n++) await crew.publish(key);
    await eventually(async () => {
      const consumers = await Promise.all(waiting.map(async (key) => (await admin.lane('s', 'g', key))?.consumer));
      expect(consumers).not.toContain(undefined);
    }, PATIENCE);
    await victim.kill('SIGSTOP');
    for (const key of ['told', 'aborted']) await crew.publish(key);

    const heir = await crew.start({ lease });
    const begun = (program: Program, key: string): number[] =>
      crew.runs([program]).flatMap((run) => (run.key === key ? [run.seq] : []));
    await eventually(() => {
      for (const key of waiting) expect(begun(heir, key)).toEqual([0, 1]);
      expect([begun(heir, 'told'), begun(heir, 'aborted')]).toEqual([[0], [0]]);
    }, PATIENCE);
    // When it wakes this has come before anything that Redis could tell it.
    victim.send({ type: 'finish', key: 'told' });
    await crew.wake(victim);
    await victim.next('end', { count: 2, timeout: 60_000 });
    expect(crew.runs([victim]).find(({ key }) => key === 'aborted')?.aborted).toBe(true);
    // It is among the living again.
    let later = 0;
    await eventually(
      async () => {
        await crew.publish(`later${later++}`);
        return crew.runs([victim]).length > 2;
      },
      { ...PATIENCE, interval: 50 },
    );
    for (const key of waiting) expect(begun(victim, key)).toEqual([]);
    expect([begun(heir, 'told'), begun(heir, 'aborted')]).toEqual([[0], [0]]);
    heir.send({ type: 'finish' });
    expect(await crew.verdict()).toEqual([]);
    expect(begun(victim, 'told').length + begun(heir, 'told').length).toBe(3);
  }, 180_000);
});
