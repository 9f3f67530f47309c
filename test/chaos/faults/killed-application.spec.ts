// The application is killed in the middle of everything; the next one goes on.
import { afterEach, describe, expect, it } from '@jest/globals';
import { eventually } from '../../support/eventually.js';
import { FaultApp } from '../support/faults-app.js';
import { startPlace, type Place } from '../support/faults-place.js';
import { modesOf } from '../support/faults-runner.js';

describe.each(modesOf({ short: ['standalone'] }))('an application that is killed, %s', (mode) => {
  let place: Place;
  const apps: FaultApp[] = [];
  afterEach(async () => {
    await Promise.all(apps.splice(0).map(({ program }) => program.kill()));
    await place?.stop();
  });

  it('leaves locks that end, messages that another handles, and nothing that was written twice', async () => {
    place = await startPlace(mode);
    for (let n = 0; n < 2; n++) {
      const app = await FaultApp.start(place);
      apps.push(app);
      // Locks of the one before are free by then, and what it had read is handled.
      await app.begin();
      if (n === 0) await app.program.kill();
    }
    await apps[1]!.ask('stop');
    await eventually(async () => expect(await place.unhandled()).toBe(0), { timeout: 15_000 });
    const { written, published } = await place.found(1);
    for (const ids of [written, published]) {
      expect(ids.length).toBeGreaterThan(0);
      expect(new Set(ids).size).toBe(ids.length);
    }
  });
});
