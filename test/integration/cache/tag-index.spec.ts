import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { InvalidOptionsError } from '../../../libs/redis-patterns/src/core/errors.js';
import { eventually } from '../../support/eventually.js';
import { describeOnEachTopology } from '../../support/topologies.js';
import { GatedFactory, openCache, type Hooks, type TestCache } from './test-cache.js';

describeOnEachTopology('the index of tags', { user: 'cache' }, (topology) => {
  const options = { tagIndex: true, ttl: '1h', operationTimeout: '5s' } as const;
  const hooks: Hooks = {};
  let here: TestCache;
  let there: TestCache;
  let names = 0;
  let tag: string;

  beforeAll(async () => {
    const passed = { after: (operation: string) => hooks.after?.(operation) };
    [here, there] = await Promise.all([openCache(topology, options, {}, passed), openCache(topology, options)]);
  });
  afterAll(() => Promise.all([here?.close(), there?.close()]));
  beforeEach(() => {
    tag = `group ${++names}`;
    delete hooks.after;
  });

  const redis = () => topology.admin.client;
  const prefix = () => `${topology.namespace}:cache:i${names}:`;
  const keysFor = (count: number) => Array.from({ length: count }, (_, id) => [`i${names}`, id] as const);
  const store = (keys: ReturnType<typeof keysFor>, value: unknown, tags = [tag], { cache } = here) =>
    cache.setMany(
      keys.map((key) => [key, value] as const),
      { tags },
    );
  const indices = () => topology.admin.keys(`${topology.namespace}:cache~index:group%20${names}:*`);
  const sizes = async () => Promise.all((await indices()).map((key) => redis().zcard(key)));
  /** Until the work that nobody waits for is done. */
  const noted = (count: number) => eventually(async () => expect(await sizes()).toEqual([count]));

  it('lists the entries that have a tag, however they were stored, those that end first before the others', async () => {
    const [a, b, c, d] = keysFor(4);
    await here.cache.set(b!, 1, { ttl: '20m', tags: [tag] });
    await there.cache.getOrSet(a!, async () => 2, { ttl: '10m', tags: [tag, 'more'] });
    await there.cache.getOrSet(d!, async () => 3, { ttl: '40m', resultTags: () => [tag] });
    await here.cache
      .getOrSet(c!, () => Promise.reject(new Error('x')), { tags: [tag], cacheErrors: () => '30m' })
      .catch(() => {});
    const expected = [a, b, c, d].map((key) => key!.join(':'));
    await eventually(async () => expect(await there.cache.keysOf(tag)).toEqual(expected));
    expect(await here.cache.keysOf(tag, { limit: 2 })).toEqual(expected.slice(0, 2));
    expect(await here.cache.evict(expected[0]!)).toBe(true);
    expect(await here.cache.keysOf('nothing has this one')).toEqual([]);
    await here.cache.invalidateTags([tag]);
    expect(await here.cache.keysOf(tag)).toEqual([]);
  });

  it('lets what a tag invalidated be deleted at once, and nothing else', async () => {
    const keys = keysFor(350);
    const [old, anew] = [keys.slice(0, 340), keys.slice(340)];
    await store(keys, 'before');
    await here.cache.set([`i${names}`, 'beside'], 'stays', { tags: ['another'] });
    await here.cache.set([`i${names}`, 'without'], 'stays');
    await noted(350);
    await there.cache.invalidateTags([tag]);
    await store(anew, 'after', [tag, 'another']);
    await eventually(async () => {
      const left = [...anew.map((key) => key.join(':')), `i${names}:beside`, `i${names}:without`];
      expect(await topology.admin.keys(`${prefix()}*`)).toEqual(
        left.map((key) => `${topology.namespace}:cache:${key}`).toSorted(),
      );
    });
    await noted(10);
    expect((await here.cache.getMany(keys)).size).toBe(10);
    expect((await here.cache.getMany(old)).size).toBe(0);
  });

  it('keeps an entry that is stored anew just before its turn comes to be deleted', async () => {
    const [key, other] = keysFor(2);
    await store([key!, other!], 'before', [tag, 'second']);
    await noted(2);
    let popped = false;
    let release!: () => void;
    const held = new Promise<void>((resolve) => (release = resolve));
    hooks.after = (operation) => {
      if (operation !== 'cache.index-pop' || popped) return undefined;
      popped = true;
      return held;
    };
    await here.cache.invalidateTags([tag]);
    await eventually(() => popped);
    await there.cache.set(key!, 'after', { tags: [tag, 'second'] });
    release();
    await eventually(async () => expect(await redis().exists(prefix() + 1)).toBe(0));
    expect(await there.cache.get(key!)).toBe('after');
  });

  it('keeps what was stored while the answer to an invalidation was lost, and that was sent again', async () => {
    const [key, marker] = keysFor(2);
    const { connection } = here.engine;
    const run = connection.run.bind(connection);
    const repeated: typeof run = (operation) => {
      if (operation.name !== 'cache.invalidateTag') return run(operation);
      const send: typeof operation.send = async (client) => {
        await operation.send(client);
        await there.cache.set(key!, 'after', { tags: [tag] });
        await noted(1);
        return operation.send(client);
      };
      return run({ ...operation, send });
    };
    await there.cache.set(marker!, 1, { tags: ['marker'] });
    connection.run = repeated;
    await here.cache.invalidateTags([tag]).finally(() => (connection.run = run));
    // One after the other: when this one is gone, the first has been dealt with.
    await eventually(async () => expect(await there.cache.keysOf('marker')).toHaveLength(1));
    await here.cache.invalidateTags(['marker']);
    await eventually(async () => expect(await redis().exists(prefix() + 1)).toBe(0));
    expect(await there.cache.get(key!)).toBe('after');
  });

  it('may be lost or damaged at any moment: entries are valid or not all the same', async () => {
    const keys = keysFor(3);
    await store(keys, 'before');
    await noted(3);
    const [index] = await indices();
    await redis().del(index!);
    expect(await here.cache.keysOf(tag)).toEqual([]);
    expect((await here.cache.getMany(keys)).size).toBe(3);
    await redis().set(index!, 'no index', 'PX', 60_000);
    await store(keys, 'again');
    expect((await here.cache.getMany(keys)).size).toBe(3);
    await here.cache.invalidateTags([tag]);
    expect((await there.cache.getMany(keys)).size).toBe(0);
    await store(keys, 'after');
    await eventually(async () => expect(await there.cache.keysOf(tag)).toHaveLength(3));
    expect((await there.cache.getMany(keys)).size).toBe(3);
  });

  it('lists a value that was fenced or refused under nothing', async () => {
    const [key] = keysFor(1);
    const gated = new GatedFactory<string>();
    const loading = here.cache.getOrSet(key!, gated.make, { tags: [tag] });
    await eventually(() => gated.runs === 1);
    await there.cache.set(key!, 'newer', { version: 9 });
    gated.open(1, 'older');
    await loading;
    expect(await here.cache.set(key!, 'older', { version: 8, tags: [tag] })).toBe(false);
    await here.cache.set([`i${names}`, 'last'], 1, { tags: [tag] });
    await eventually(async () => expect(await here.cache.keysOf(tag)).toEqual([`i${names}:last`]));
  });

  it('has a time to live like its entries, and forgets those whose time is over', async () => {
    await here.cache.set([`i${names}`, 'long'], 1, { ttl: '2h', jitter: 0, tags: [tag] });
    for (const key of keysFor(150)) await here.cache.set(key, 1, { ttl: 30, tags: [tag] });
    await eventually(async () => expect(await indices()).toHaveLength(1));
    const [index] = await indices();
    await eventually(async () => expect(await here.cache.keysOf(tag)).toEqual([`i${names}:long`]));
    await eventually(async () => {
      await here.cache.set([`i${names}`, 'more'], 1, { ttl: 1, tags: [tag] });
      expect(await redis().zcard(index!)).toBeLessThan(5);
    });
    const left = await redis().pttl(index!);
    expect(left).toBeGreaterThan(7_100_000);
    expect(left).toBeLessThanOrEqual(7_200_000);
    for (const key of await topology.admin.keys(`${topology.namespace}:*`)) {
      expect(await redis().pttl(key)).not.toBe(-1);
    }
  });

  it.each(['a,b=c;d', '{z}', 'x:y', '*', 'é\n', '%', "'"])(
    'takes any text as a tag, and in a key: %j',
    async (text) => {
      const key = [`i${names}`, text] as const;
      await here.cache.set(key, 1, { tags: [text, tag] });
      await eventually(async () => expect(await here.cache.keysOf(text)).toHaveLength(1));
      const [listed] = await here.cache.keysOf(text);
      await here.cache.invalidateTags([text]);
      await eventually(async () => expect(await redis().exists(`${topology.namespace}:cache:${listed}`)).toBe(0));
    },
  );

  it('is off by default: no command is sent for it, and what asks for it says so', async () => {
    const plain = await openCache(topology);
    try {
      await plain.cache.set(['i', 1], 1, { tags: [tag] });
      await plain.cache.invalidateTags([tag]);
      await here.cache.has(['i', 1]);
      expect(await indices()).toEqual([]);
      await expect(plain.cache.keysOf(tag)).rejects.toThrow(/CacheService\.keysOf[^]*cache\.tagIndex: must be true/);
      for (const bad of ['', 7, undefined]) {
        await expect(here.cache.keysOf(bad as string)).rejects.toBeInstanceOf(InvalidOptionsError);
      }
      await expect(here.cache.keysOf(tag, { limit: 0 })).rejects.toThrow(/limit/);
    } finally {
      await plain.close();
    }
  });
});
