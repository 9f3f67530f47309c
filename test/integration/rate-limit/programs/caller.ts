// A process of its own that calls a limited thing as often as it can when it is told to.
import { definePolicy } from '../../../../libs/redis-patterns/src/rate-limit/index.js';
import { onParent, programData, tellParent } from '../../../support/parent.js';
import type { PlainConnection } from '../../../support/topologies.js';
import { openLimits } from '../test-limits.js';

const setup = programData<{ connection: PlainConnection; namespace: string }>();
const { limits } = await openLimits(setup);

/** Calls at once, so many times. */
onParent('burst', ({ name, limit, window, key, calls }) => {
  const policy = definePolicy(String(name), { limit: Number(limit), window: Number(window) });
  const attempts = Array.from({ length: Number(calls) }, () => limits.consume(policy, String(key)));
  void Promise.all(attempts).then((results) => {
    const at = results.filter(({ allowed }) => allowed).map((result) => result.at);
    void tellParent({ type: 'burst-done', at, sources: [...new Set(results.map(({ source }) => source))] });
  });
});

/** Calls on and on from several callers, and reports every admitted call, until it is told to stop. */
onParent('load', ({ name, limit, window, key, callers }) => {
  const policy = definePolicy(String(name), { limit: Number(limit), window: Number(window) });
  let going = true;
  onParent('stop', () => (going = false));
  const caller = async (): Promise<void> => {
    while (going) {
      const { allowed, at, source } = await limits.consume(policy, String(key));
      if (allowed) await tellParent({ type: 'admitted', at, source });
    }
  };
  void Promise.all(Array.from({ length: Number(callers) }, caller)).then(() => tellParent({ type: 'stopped' }));
});

await tellParent({ type: 'ready' });
