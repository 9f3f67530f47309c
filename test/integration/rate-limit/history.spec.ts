import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { eventually } from '../../support/eventually.js';
import { startProgram, type Program } from '../../support/child-process.js';
import { describeOnEachTopology } from '../../support/topologies.js';
import { mostInAnyWindow } from './test-limits.js';

const WINDOW = 300;
const LIMIT = 20;

describeOnEachTopology('rate limits of several processes', { user: 'rateLimit' }, (topology) => {
  let programs: Program[];

  beforeAll(async () => {
    const { connection, namespace } = topology;
    const file = new URL('./programs/caller.ts', import.meta.url);
    programs = [1, 2, 3].map(() => startProgram(file, { data: { connection, namespace } }));
    await Promise.all(programs.map((program) => program.next('ready')));
  });
  afterAll(() => Promise.all((programs ?? []).map((program) => program.kill())));

  it('admit exactly 10 of 50 parallel calls of two processes at a limit of 10', async () => {
    for (let round = 1; round <= 3; round++) {
      const burst = { type: 'burst', name: 'burst', limit: 10, window: 60_000, key: `round:${round}`, calls: 25 };
      const pair = programs.slice(0, 2);
      for (const program of pair) program.send(burst);
      const answers = await Promise.all(pair.map((program) => program.next('burst-done', { count: round })));
      expect(answers.map((answer) => answer['sources'])).toEqual([['redis'], ['redis']]);
      expect(answers.flatMap((answer) => answer['at'] as number[])).toHaveLength(10);
    }
  });

  it('never admit more than the limit in any window under load, also when a process is killed in the middle', async () => {
    for (const program of programs) {
      program.send({ type: 'load', name: 'load', limit: LIMIT, window: WINDOW, key: 'user:1', callers: 8 });
    }
    const admitted = () => programs.flatMap((program) => program.received('admitted'));
    const times = () => admitted().map((each) => each['at'] as number);
    const span = () => (Math.max(...times()) - Math.min(...times())) / 1000;
    await eventually(() => times().length > 0 && span() > 4 * WINDOW, { timeout: 20_000 });
    await programs[2]!.kill('SIGKILL');
    const soFar = times().length;
    await eventually(() => span() > 9 * WINDOW && times().length > soFar + LIMIT, { timeout: 20_000 });
    for (const program of programs.slice(0, 2)) program.send({ type: 'stop' });
    await Promise.all(programs.slice(0, 2).map((program) => program.next('stopped')));

    expect(new Set(admitted().map((each) => each['source']))).toEqual(new Set(['redis']));
    expect(mostInAnyWindow(times(), WINDOW)).toBeLessThanOrEqual(LIMIT);
    // And it admits nearly what it promises: a limiter that refuses everything would pass the line above.
    expect(times().length).toBeGreaterThan((span() / WINDOW) * LIMIT * 0.5);
  });
});
