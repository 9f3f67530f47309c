// A process of its own that loads values through the cache when it is told to.
import { onParent, programData, tellParent } from '../../../support/parent.js';
import { RedisAdmin } from '../../../support/redis-admin.js';
import type { PlainConnection } from '../../../support/topologies.js';
import { openCache } from '../test-cache.js';

const setup = programData<{
  connection: PlainConnection;
  namespace: string;
  admin: PlainConnection;
  lease: number;
}>();
// Patient, as are its connections: a cache that gives up on a busy machine's Redis loads for itself, as it should.
const options = { lease: setup.lease, operationTimeout: '5s' } as const;
const { cache } = await openCache(setup, options, { commandTimeout: '5s' });
// The count is no part of the cache: the user of the cache may not touch it.
const { client } = await RedisAdmin.connect(setup.admin);

/** Loads one key many times in parallel; each run of the factory is counted in Redis, for all processes. */
onParent('load', ({ key, callers }) => {
  const factory = async (): Promise<string> => {
    const run = await client.incr(`${setup.namespace}:runs:${String(key)}`);
    return `run ${run}`;
  };
  const calls = Array.from({ length: Number(callers) }, () => cache.getOrSet(String(key), factory));
  void Promise.all(calls).then((values) => tellParent({ type: 'loaded', values: [...new Set(values)] }));
});

/** Begins a load that never ends. */
onParent('hang', ({ key }) => {
  const factory = (): Promise<never> => {
    void tellParent({ type: 'hanging' });
    return new Promise(() => {});
  };
  void cache.getOrSet(String(key), factory);
});

await tellParent({ type: 'ready' });
