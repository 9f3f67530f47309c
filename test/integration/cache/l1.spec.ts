import { afterAll, afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { setImmediate as turn } from 'node:timers/promises';
import { CacheService, resolveCacheOptions, type CacheOptions } from '../../../libs/redis-patterns/src/cache/index.js';
import { openEngine } from '../../support/engine.js';
import { eventually } from '../../support/eventually.js';
import {
  describeOnEachTopology,
  sharedTopology,
  startOwn,
  uniqueNamespace,
  type Topology,
} from '../../support/topologies.js';
import { commandsOf, GatedFactory, openCache, type Hooks, type TestCache } from './test-cache.js';

type Place = Parameters<typeof openCache>[0];

/** A cache with copies in its memory, once it is told of changes of entries and tags. */
async function openNear(place: Place, l1: CacheOptions['l1'] = true, hooks: Hooks = {}): Promise<TestCache> {
  const opened = await openCache(place, { l1, operationTimeout: '2s' }, {}, hooks);
  await eventually(async () => {
    await opened.cache.getOrSet('warm', async () => 1, { tags: ['warm'] });
    return opened.cache.stats().l1Hits > 0;
  });
  return opened;
}

describeOnEachTopology('copies in the memory of a process', (topology) => {
  const opened: TestCache[] = [];
  let names = 0;
  let key: readonly [string, number];

  beforeEach(() => {
    key = ['near', ++names];
  });
  afterEach(() => Promise.all(opened.splice(0).map((one) => one.close())));

  async function open(l1?: CacheOptions['l1'], hooks?: Hooks): Promise<TestCache> {
    const one = await openNear(topology, l1, hooks);
    opened.push(one);
    return one;
  }

  /** Reads until a read costs no command. */
  async function keep({ cache }: TestCache, value: unknown, options: object = {}): Promise<void> {
    const hits = cache.stats().l1Hits;
    await eventually(async () => {
      expect(await cache.getOrSet(key, async () => value, options)).toEqual(value);
      return cache.stats().l1Hits > hits;
    });
  }

  it('answer without a command, each caller with a copy of its own, and are filled by reads alone', async () => {
    const here = await open();
    await here.cache.set(key, { list: [1] });
    const size = here.cache.stats().l1!.size;
    await keep(here, { list: [1] });
    expect(here.cache.stats().l1!.size).toBeGreaterThan(size);
    const { names: commands } = await commandsOf(here, async () => {
      const one = await here.cache.get<{ list: number[] }>(key);
      one!.list.push(2);
      expect(await here.cache.getOrSet(key, async () => 0)).toEqual({ list: [1] });
      expect(await here.cache.has(key)).toBe(true);
      expect(await here.cache.getMany([key])).toEqual(new Map([[key, { list: [1] }]]));
      expect(await here.cache.getOrSetMany([key], () => new Map())).toEqual(new Map([[key, { list: [1] }]]));
    });
    expect(commands).toEqual([]);
    const without = await commandsOf(here, () => here.cache.getOrSet(key, async () => 0, { l1: false }));
    expect(without.names).toEqual(['get']);
  });

  it.each(['evict', 'set', 'expire', 'clear', 'tag', 'foreign'] as const)(
    'are gone after %s in another process, and at once in their own',
    async (kind) => {
      const [here, there] = await Promise.all([open(), open()]);
      const options = { tags: ['t'] };
      await keep(here, 'old', options);
      await keep(there, 'old', options);
      if (kind === 'tag') await there.cache.invalidateTags(['t']);
      else if (kind === 'clear') await there.cache.clear();
      else if (kind === 'foreign') await topology.admin.client.del(`${topology.namespace}:cache:near:${names}`);
      else if (kind === 'set') await there.cache.set(key, 'new', options);
      else await there.cache[kind](key);
      if (kind !== 'foreign') expect(await there.cache.getOrSet(key, async () => 'new', options)).toBe('new');
      await eventually(async () => expect(await here.cache.getOrSet(key, async () => 'new', options)).toBe('new'));
    },
  );

  it('are not kept when they changed while they were read', async () => {
    const replied = new GatedFactory<void>();
    let slow = false;
    const after = (operation: string) => (slow && operation === 'cache.get' ? replied.make() : undefined);
    const [here, there] = await Promise.all([open(true, { after }), open()]);
    await there.cache.set(key, 'old');
    slow = true;
    const reading = here.cache.get(key);
    await eventually(() => replied.runs === 1);
    slow = false;
    await there.cache.set(key, 'new');
    // A later change of something else on every server: the message about the key has come by then, or will never come.
    await eventually(async () => {
      await there.cache.evict('warm');
      const misses = here.cache.stats().l1Hits;
      await here.cache.getOrSet('warm', async () => 1, { tags: ['warm'] });
      return here.cache.stats().l1Hits === misses;
    });
    replied.open(1, undefined);
    expect(await reading).toBe('old');
    expect(await here.cache.get(key)).toBe('new');
  });

  it.each([[{ tags: false }], [{ tags: true }]])(
    'never stay behind, whatever happens at the same time (%p)',
    async ({ tags }) => {
      const all = await Promise.all([open(), open(), open()]);
      let version = 0;
      const options = tags ? { tags: ['raced'] } : {};
      const read = ({ cache }: TestCache) => cache.getOrSet(key, async () => version, options);
      for (let round = 0; round < 25; round++) {
        let changing = true;
        const readers = all.flatMap((one) =>
          Array.from({ length: 4 }, async () => {
            // A copy answers without a turn of the event loop, and the messages need some.
            for (; changing; await turn()) await read(one);
          }),
        );
        try {
          for (let n = 0; n < 4; n++) {
            version++;
            const { cache } = all[n % 3]!;
            if (tags) await cache.invalidateTags(['raced']);
            else await cache.evict(key);
            // In its own process at once.
            expect(await read(all[n % 3]!)).toBe(version);
          }
        } finally {
          changing = false;
          await Promise.all(readers);
        }
        for (const one of all) await eventually(async () => expect(await read(one)).toBe(version), { timeout: 1_000 });
      }
      expect(all.every(({ cache }) => cache.stats().l1Hits > 100)).toBe(true);
    },
  );

  it('share one frozen object with freeze, unless the value has what cannot be frozen', async () => {
    const here = await open({ isolation: 'freeze' });
    await keep(here, { deep: { list: [1] } });
    const [one, two] = await Promise.all([here.cache.get<{ deep: { list: number[] } }>(key), here.cache.get(key)]);
    expect(one).toBe(two);
    expect(() => one!.deep.list.push(2)).toThrow(TypeError);
    await here.cache.set(key, { at: new Date(0) });
    await keep(here, { at: new Date(0) });
    const [a, b] = await Promise.all([here.cache.get(key), here.cache.get(key)]);
    expect(a).toEqual(b);
    expect(a).not.toBe(b);
  });

  it('live no longer than l1.ttl, than the entry is fresh, or than there is room', async () => {
    const here = await open({ ttl: 80, max: 3 });
    await keep(here, 'value');
    await eventually(async () => {
      const { names: commands } = await commandsOf(here, () => here.cache.get(key));
      return commands.length > 0;
    });
    for (let n = 0; n < 10; n++) await here.cache.getOrSet(['many', n], async () => n);
    for (let n = 0; n < 10; n++) await here.cache.get(['many', n]);
    expect(here.cache.stats().l1!.size).toBeLessThanOrEqual(3);
    const short = await open();
    await short.cache.set(key, 'short', { ttl: 100, jitter: 0 });
    await short.cache.get(key);
    await eventually(async () => expect(await short.cache.get(key)).toBeUndefined(), { timeout: 2_000 });
  });

  it("may be out of date for l1.ttl with coherence 'ttl', and not longer; their own process is told at once", async () => {
    const here = await open({ coherence: 'ttl', ttl: 300 });
    const there = await open({ coherence: 'ttl', ttl: 300 });
    await keep(here, 'old', { tags: ['t'] });
    await keep(there, 'old', { tags: ['t'] });
    await there.cache.invalidateTags(['t']);
    expect(await there.cache.getOrSet(key, async () => 'new', { tags: ['t'] })).toBe('new');
    await eventually(async () =>
      expect(await here.cache.getOrSet(key, async () => 'new', { tags: ['t'] })).toBe('new'),
    );
    await keep(here, 'new', { tags: ['t'] });
    await here.cache.evict(key);
    expect(await here.cache.get(key)).toBeUndefined();
  });
});

describe('copies in the memory of a process that reads replicas', () => {
  it('are refused: they could be filled with what a replica has not heard of', async () => {
    const connection = { ...sharedTopology('cluster').connection, readFrom: 'replica' } as never;
    const { context, close } = await openEngine(
      { connection, namespace: uniqueNamespace() },
      { startup: 'background' },
    );
    try {
      const options = resolveCacheOptions({ l1: true }, 'the spec');
      expect(() => new CacheService(context, options)).toThrow(/cache\.l1: needs reads from the master.*readFrom/s);
    } finally {
      await close();
    }
  });
});

describe('copies in the memory of a process when Redis fails', () => {
  const open: TestCache[] = [];
  let own: Topology;

  afterEach(() => Promise.all(open.splice(0).map((one) => one.close())));
  afterAll(() => own?.stop());

  it('are not used without messages, and are forgotten before they are kept again', async () => {
    own = await startOwn('standalone');
    const place = { connection: own.connection, namespace: uniqueNamespace() };
    const here = await openNear(place);
    open.push(here);
    await here.cache.set('k', 'old');
    await eventually(async () => {
      await here.cache.get('k');
      return here.cache.stats().l1!.size > 1;
    });
    await own.kill(own.nodes[0]!);
    await eventually(() => here.cache.stats().l1!.armed === false);
    expect(here.cache.stats().l1!.size).toBe(0);
    expect(await here.cache.get('k')).toBeUndefined();
    expect(await here.cache.getOrSet('k', async () => 'offline')).toBe('offline');
    await own.restart(own.nodes[0]!, { data: 'wipe' });
    await eventually(() => here.cache.stats().l1!.armed === true);
    expect(await here.cache.getOrSet('k', async () => 'new')).toBe('new');
  });

  it('are forgotten when only the socket of the messages is lost', async () => {
    const place = { connection: own.connection, namespace: uniqueNamespace() };
    const here = await openNear(place);
    const other = await openCache(place);
    open.push(here, other);
    await here.cache.set('k', 'old');
    await here.cache.get('k');
    const size = here.cache.stats().l1!.size;
    expect(size).toBeGreaterThan(0);
    const { client } = other.engine.connection;
    const list = String(await client.call('CLIENT', 'LIST'));
    for (const [, id] of list.matchAll(/^id=(\d+) .*name=\S+:tracking:/gm))
      await client.call('CLIENT', 'KILL', 'ID', id!);
    await other.cache.set('k', 'new');
    await eventually(async () => expect(await here.cache.get('k')).toBe('new'), { timeout: 2_000 });
    await eventually(() => here.cache.stats().l1!.armed === true);
    expect(await here.cache.get('k')).toBe('new');
  });
});
