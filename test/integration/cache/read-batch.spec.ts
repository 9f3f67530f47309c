// Reads of one turn of the event loop share a command.
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { eventually } from '../../support/eventually.js';
import { describeOnEachTopology } from '../../support/topologies.js';
import { commandsOf, openCache, type TestCache } from './test-cache.js';

const MANY = 100;
const TAGS = ['batch-a', 'batch-b'];

describeOnEachTopology('reads of one turn', (topology) => {
  let here: TestCache;
  const isCluster = topology.mode === 'cluster';
  const numbers = Array.from({ length: MANY }, (_, n) => n);
  const unexpected = () => Promise.reject(new Error('there is nothing to load'));
  const read = (n: number) =>
    here.cache.getOrSet(['batch', n], unexpected, n % 3 === 0 ? { ttl: '1m', tags: TAGS } : { ttl: '1m' });

  beforeEach(async () => {
    here = await openCache(topology);
    for (const n of numbers) {
      await here.cache.set(['batch', n], { n }, n % 3 === 0 ? { ttl: '1m', tags: TAGS } : { ttl: '1m' });
    }
  });
  afterEach(() => here?.close());

  it('share a few commands, and each gets its own value, with tags and without', async () => {
    let values: unknown[] = [];
    const { names } = await commandsOf(here, async () => {
      values = await Promise.all(numbers.map((n) => read(n)));
    });
    expect(values).toEqual(numbers.map((n) => ({ n })));
    // The first one is not held back.
    if (!isCluster) expect(names).toEqual(['mget', 'mget', 'mget', 'mget']);
  });

  it('share them also where the tags of the entries are not known before', async () => {
    // The tags come from the result, so that a second look asks for their tokens.
    const readAll = async () => {
      const options = { ttl: '1m', resultTags: () => TAGS } as const;
      const load = async (n: number) => ({ n });
      const values = numbers.map((n) => here.cache.getOrSet(['late', n], () => load(n), options));
      expect(await Promise.all(values)).toEqual(numbers.map((n) => ({ n })));
    };
    await readAll();
    const { names } = await commandsOf(here, readAll);
    if (!isCluster) expect(names.length).toBeLessThan(MANY / 5);
  });

  it('do not hold back a lone one', async () => {
    const { names } = await commandsOf(here, async () => {
      for (const n of [1, 2, 4]) expect(await read(n)).toEqual({ n });
    });
    expect(names).toEqual(['get', 'get', 'get']);
  });

  it('fail or load each for itself: an invalidated, an evicted and a foreign entry do not disturb the others', async () => {
    await here.cache.evict(['batch', 1]);
    await here.cache.invalidateTags(['batch-b']);
    await topology.admin.client.set(`${topology.namespace}:cache:batch:2`, 'not an entry');
    const loaded: number[] = [];
    const values = await Promise.all(
      numbers.slice(0, 8).map((n) =>
        here.cache.getOrSet(
          ['batch', n],
          async () => {
            loaded.push(n);
            return { loaded: n };
          },
          n % 3 === 0 ? { ttl: '1m', tags: TAGS } : { ttl: '1m' },
        ),
      ),
    );
    expect(loaded.toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 6]);
    expect(values).toEqual(numbers.slice(0, 8).map((n) => (loaded.includes(n) ? { loaded: n } : { n })));
  });

  it('end by the deadline when Redis does not answer, and go on alone afterwards', async () => {
    const client = topology.admin.client;
    const masters = 'nodes' in client ? client.nodes('master') : [client];
    await Promise.all(masters.map((node) => node.call('CLIENT', 'PAUSE', '400', 'ALL')));
    const values = await Promise.all(
      numbers.slice(0, 5).map((n) => here.cache.getOrSet(['batch', n], async () => 'from the source', { ttl: '1m' })),
    );
    expect(values).toEqual(Array(5).fill('from the source'));
    await eventually(async () => {
      const { names } = await commandsOf(here, async () =>
        expect(await here.cache.get(['batch', 7])).toEqual({ n: 7 }),
      );
      expect(names).toEqual(['get']);
    });
  });
});
