// A thousand calls at once while Redis is gone, hangs, or cannot be reached.
import { afterEach, describe, expect, it } from '@jest/globals';
import { eventually } from '../../support/eventually.js';
import { CLOSE_TIME, FaultApp } from '../support/faults-app.js';
import { SLACK } from '../support/faults-load.js';
import { startPlace, type Place } from '../support/faults-place.js';
import { ALL_MODES } from '../support/faults-runner.js';

const MIB = 1024 * 1024;
/** What a process may hold more than before: compiled code and caches, not a thousand calls each time (0.5 MB and more). */
const HEAP_SLACK = 2 * MIB;
const ROUNDS = 3;

interface Calls {
  readonly ends: Record<string, number>;
  readonly overdue: number;
}

const faults: Record<string, (place: Place) => Promise<() => unknown>> = {
  stopped: async ({ own }) => {
    await Promise.all(own.nodes.map((node) => own.kill(node)));
    return () => Promise.all(own.nodes.map((node) => own.restart(node)));
  },
  hung: async ({ own }) => {
    for (const node of own.nodes) own.freeze(node);
    return () => own.nodes.forEach((node) => own.resume(node));
  },
  'behind a network that swallows bytes': async ({ proxies }) => {
    await proxies.set('blackhole');
    return () => proxies.set('pass');
  },
};

describe.each(ALL_MODES)('a thousand calls at once, %s', (mode) => {
  let place: Place;
  let app: FaultApp;
  afterEach(async () => {
    await app?.program.kill();
    await place?.stop();
  });

  const calls = async (): Promise<Calls> => app.ask<Calls>('calls');
  const allWell = () => eventually(async () => expect((await calls()).ends).toEqual({ ok: 1000 }), { timeout: 25_000 });

  it('settle in time without Redis, leave nothing in memory, succeed afterwards, and let the process end', async () => {
    place = await startPlace(mode);
    app = await FaultApp.start(place, { program: 'thousand' });
    for (let round = 0; round < ROUNDS; round++) await allWell();
    const before = await app.ask<number>('heap');
    for (const [name, cause] of Object.entries(faults)) {
      const heal = await cause(place);
      for (let round = 0; round < ROUNDS; round++) {
        const { ends, overdue } = await calls();
        expect([name, ends.ok ?? 0, (ends['not-sent'] ?? 0) + (ends.unknown ?? 0)]).toEqual([name, 0, 1000]);
        expect(overdue).toBeLessThan(SLACK);
      }
      await heal();
      await allWell();
      expect(await app.ask('stats')).toMatchObject({ inFlight: 0, waiting: 0 });
    }
    expect((await app.ask<number>('heap')) - before).toBeLessThan(HEAP_SLACK);

    await faults.hung!(place);
    const hanging = calls();
    const closing = app.close<number>();
    expect((await hanging).ends.ok).toBeUndefined();
    expect(await closing).toBeLessThan(CLOSE_TIME);
    expect(app.program.output).toBe('');
  }, 90_000);
});
