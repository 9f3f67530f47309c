// A process of its own that calls limited things as often as it can when it is told to. Its clock may be wrong.
import { definePolicy, type DefinedPolicy } from '../../../../libs/redis-patterns/src/rate-limit/index.js';
import { onParent, programData, tellParent } from '../../../support/parent.js';
import type { PlainConnection } from '../../../support/topologies.js';
import { openLimits } from '../test-limits.js';

const setup = programData<{ connection: PlainConnection; namespace: string; skew?: number }>();
const { now } = Date;
Date.now = () => now() + (setup.skew ?? 0);
const { limits } = await openLimits(setup);

const policiesOf = (given: unknown): DefinedPolicy[] =>
  (given as DefinedPolicy[]).map(({ name, ...policy }) => definePolicy(name, policy));

/** Calls at once, so many times. */
onParent('burst', ({ policy, key, calls }) => {
  const attempts = Array.from({ length: Number(calls) }, () => limits.consume(policiesOf([policy]), String(key)));
  void Promise.all(attempts).then((results) => {
    const at = results.filter(({ allowed }) => allowed).map((result) => result.at);
    void tellParent({ type: 'burst-done', at, sources: [...new Set(results.map(({ source }) => source))] });
  });
});

/** Calls on and on, with costs of 1 to 3, and reports every admitted call of each policy, until it is told to stop. */
onParent('load', ({ policies, key, callers }) => {
  let going = true;
  onParent('stop', () => (going = false));
  const caller = async (policy: DefinedPolicy, index: number): Promise<void> => {
    for (let call = index; going; call++) {
      const { allowed, at, charged, source } = await limits.consume(policy, String(key), { cost: 1 + (call % 3) });
      if (allowed) await tellParent({ type: 'admitted', policy: policy.name, at, charged, source });
    }
  };
  const all = policiesOf(policies).flatMap((policy) =>
    Array.from({ length: Number(callers) }, (_, index) => caller(policy, index)),
  );
  void Promise.all(all).then(() => tellParent({ type: 'stopped' }));
});

/** Charges two subjects at once, over and over, telling of each call when it begins and when it is admitted. */
onParent('pairs', ({ policies, keys }) => {
  const [first, second] = policiesOf(policies).map((policy) => limits.policies.find(policy, 'the program'));
  const [one, other] = keys as [string, string];
  const run = async (): Promise<void> => {
    for (;;) {
      const result = await limits.decide([
        { policy: first!, cost: 1, subject: one },
        { policy: second!, cost: 1, subject: other },
      ]);
      await tellParent({ type: 'pair', allowed: result.allowed });
    }
  };
  void run();
});

/** Holds a place until it is killed. */
onParent('hold', ({ policy, key }) => {
  void limits
    .acquire(policiesOf([policy])[0]!, String(key))
    .then((lease) => tellParent({ type: 'held', id: lease?.id }));
});

await tellParent({ type: 'ready' });
