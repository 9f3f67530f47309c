import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.js';
import { describeOn } from '../support/topologies.js';
import { LOSSES, LossyPlace } from './support/lost-reply-place.js';

for (const mode of ['standalone', 'cluster'] as const) {
  describeOn(mode, 'invariant 4: a lock and a lost message', (topology) => {
    let place: LossyPlace;
    beforeAll(async () => {
      place = await LossyPlace.open(topology);
    });
    afterAll(() => place.close());

    it.each(LOSSES)('is taken once and given back once when $name', async (loss) => {
      const { behind, direct } = place;
      const { client } = topology.admin;
      // One tag: both are on the server that the loss is in front of.
      const tag = `{${topology.namespace}:${LOSSES.indexOf(loss)}}`;
      const given = await behind.locks.acquire(`given:${tag}`, { lease: '60s' });
      const next = direct.locks.acquire(`given:${tag}`, { lease: '60s', wait: '20s' });
      const takenKey = behind.locks.keyOf(`taken:${tag}`);
      const wait = loss.patient ? 0 : '5s';
      const [taken, release] = await place.strike(loss, given.key, () =>
        Promise.allSettled([behind.locks.acquire(`taken:${tag}`, { lease: '60s', wait }), given.release()]),
      );

      // Found again by its token, or, when its caller has given up, left to nobody.
      if (taken.status === 'fulfilled') {
        expect(await client.get(takenKey)).toBe(taken.value.token);
        expect(await taken.value.release()).toBe(true);
      }
      const failure = { status: 'rejected', reason: { code: 'ERR_LOCK_UNAVAILABLE' } };
      expect(taken).toMatchObject(loss.patient ? failure : { status: 'fulfilled' });
      // Nobody else's lock is taken for ours, and ours that is gone is not taken for somebody else's.
      expect(release).toMatchObject(loss.patient ? failure : { status: 'fulfilled', value: true });

      const theirs = await next;
      await eventually(() => expect(behind.locks.stats()).toMatchObject({ held: 0, cleaning: 0 }), { timeout: 10_000 });
      expect(await client.exists(takenKey)).toBe(0);
      expect(await client.get(given.key)).toBe(theirs.token);
      expect(await theirs.release()).toBe(true);
    });
  });
}
