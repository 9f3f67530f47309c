import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { DefinedPolicy } from '../../../libs/redis-patterns/src/rate-limit/index.js';
import { eventually } from '../../support/eventually.js';
import { startProgram, type Program } from '../../support/child-process.js';
import { describeOnEachTopology } from '../../support/topologies.js';
import { mostInAnyWindow, type Admitted } from './test-limits.js';

const WINDOW = 300;
const LIMIT = 20;
const HOUR = 3_600_000;

/** The most units in any window, and the part of the limit that constant pressure gets at least, by policy. */
const PROMISES: Record<string, { policy: DefinedPolicy; most: number; least: number }> = {
  fixed: { policy: named('fixed', { algorithm: 'fixed-window' }), most: 2 * LIMIT, least: 0.8 },
  clock: { policy: named('clock', { algorithm: 'fixed-window', align: 'clock' }), most: 2 * LIMIT, least: 0.8 },
  sliding: { policy: named('sliding', { algorithm: 'sliding-window' }), most: LIMIT, least: 0.5 },
  log: { policy: named('log', { algorithm: 'sliding-log' }), most: LIMIT, least: 0.7 },
  bucket: { policy: named('bucket', { algorithm: 'token-bucket', burst: 7 }), most: LIMIT + 7, least: 0.7 },
};

function named(name: string, policy: object): DefinedPolicy {
  return { name, limit: LIMIT, window: WINDOW, ...policy };
}

describeOnEachTopology('rate limits of several processes', { user: 'rateLimit' }, (topology) => {
  let programs: Program[];

  beforeAll(async () => {
    const { connection, namespace } = topology;
    const file = new URL('./programs/caller.ts', import.meta.url);
    // Whatever time it is there: only that of the server counts.
    programs = [0, -HOUR, HOUR].map((skew) => startProgram(file, { data: { connection, namespace, skew } }));
    await Promise.all(programs.map((program) => program.next('ready')));
  });
  afterAll(() => Promise.all((programs ?? []).map((program) => program.kill())));

  it('admit exactly 10 of 50 parallel calls of two processes at a limit of 10', async () => {
    for (const [round, { policy }] of Object.values(PROMISES).entries()) {
      const burst = { type: 'burst', key: `round:${round}`, calls: 25 };
      const ten = { ...policy, limit: 10, window: HOUR, ...(policy.algorithm === 'token-bucket' && { burst: 10 }) };
      const pair = programs.slice(0, 2);
      for (const program of pair) program.send({ ...burst, policy: { ...ten, name: `burst-${policy.name}` } });
      const answers = await Promise.all(pair.map((program) => program.next('burst-done', { count: round + 1 })));
      expect(answers.map((answer) => answer['sources'])).toEqual([['redis'], ['redis']]);
      expect(answers.flatMap((answer) => answer['at'] as number[])).toHaveLength(10);
    }
  });

  it('never admit more than they promise in any window, also when a process is killed in the middle', async () => {
    const policies = Object.values(PROMISES).map(({ policy }) => policy);
    for (const program of programs) program.send({ type: 'load', policies, key: 'user:1', callers: 3 });
    const calls = (name: string, source = 'redis') =>
      programs
        .flatMap((program) => program.received('admitted'))
        .filter((each) => each['policy'] === name && each['source'] === source) as unknown as Admitted[];
    const span = (admitted: readonly Admitted[]) => {
      const times = admitted.map(({ at }) => at);
      return times.length === 0 ? 0 : (Math.max(...times) - Math.min(...times)) / 1000;
    };
    const loadLasts = (windows: number) =>
      eventually(() => expect(span(calls('sliding'))).toBeGreaterThan(windows * WINDOW), { timeout: 20_000 });
    await loadLasts(3);
    await programs[2]!.kill('SIGKILL');
    await loadLasts(7);
    for (const program of programs.slice(0, 2)) program.send({ type: 'stop' });
    await Promise.all(programs.slice(0, 2).map((program) => program.next('stopped')));

    for (const [name, { most, least }] of Object.entries(PROMISES)) {
      const admitted = calls(name);
      const found = mostInAnyWindow(admitted, WINDOW);
      expect({ name, found, holds: found <= most }).toEqual({ name, found, holds: true });
      // And it admits nearly what it promises: a limiter that refuses everything would pass the line above.
      const units = admitted.reduce((sum, { charged }) => sum + charged, 0);
      expect([name, units > (span(admitted) / WINDOW) * LIMIT * least]).toEqual([name, true]);
      // A machine that is held up for longer than the deadline decides by itself, and that is another promise.
      expect(calls(name, 'local').length).toBeLessThan(admitted.length / 10);
    }
  });
});
