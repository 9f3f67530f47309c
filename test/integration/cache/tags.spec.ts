import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { InvalidOptionsError } from '../../../libs/redis-patterns/src/core/errors.js';
import { eventually } from '../../support/eventually.js';
import { describeOnEachTopology } from '../../support/topologies.js';
import { commandsOf, GatedFactory, openCache, type TestCache } from './test-cache.js';

describeOnEachTopology('tags', (topology) => {
  let here: TestCache;
  let there: TestCache;
  let names = 0;
  let key: readonly [string, number];
  let tag: string;

  const entryKey = () => `${topology.namespace}:cache:tagged:${names}`;
  const tagKey = (name = tag) => `${topology.namespace}:cache~tag:${name.replaceAll(':', '%3A')}`;
  const generations = () => `${topology.namespace}:cache~gen`;
  const redis = () => topology.admin.client;
  const load = (value: unknown, tags = [tag]) => here.cache.getOrSet(key, async () => value, { tags });

  beforeEach(async () => {
    key = ['tagged', ++names];
    tag = `group:${names}`;
    [here, there] = await Promise.all([openCache(topology), openCache(topology)]);
  });
  afterEach(() => Promise.all([here?.close(), there?.close()]));

  it('invalidate every entry that has one of them, in every process', async () => {
    const other = ['tagged', `other ${names}`] as const;
    const untouched = ['tagged', `untouched ${names}`] as const;
    await load('first');
    await there.cache.set(other, 'set', { tags: [tag, 'more'] });
    await there.cache.set(untouched, 'stays', { tags: [`not ${tag}`] });
    expect(await load('never')).toBe('first');
    await there.cache.invalidateTags([tag]);
    expect(await load('second')).toBe('second');
    expect(await here.cache.has(other)).toBe(false);
    expect(await here.cache.get(untouched)).toBe('stays');
    expect(await here.cache.getMany([key, other, untouched])).toEqual(
      new Map<unknown, unknown>([
        [key, 'second'],
        [untouched, 'stays'],
      ]),
    );
  });

  it.each([1, 3, 10])(
    'cost one round trip for a hit with %i of them, one command where the server allows it',
    async (count) => {
      const tags = Array.from({ length: count }, (_, index) => `${tag}:${index}`);
      await load('value', tags);
      const { names: commands, turns } = await commandsOf(here, () => load('never', tags));
      const gets = Array.from({ length: count + 1 }, () => 'get');
      expect(commands).toEqual(topology.mode === 'cluster' ? gets : ['mget']);
      expect(turns).toBe(1);
    },
  );

  it('are found whatever their order, and a caller who names one more finds a miss', async () => {
    await load('value', [tag, 'b', 'a', 'a']);
    expect(await load('never', ['a', 'b', tag])).toBe('value');
    expect(await load('never', ['a'])).toBe('value');
    expect(await here.cache.get(key)).toBe('value');
    expect(await load('with c', ['a', 'c'])).toBe('with c');
  });

  it.each(['a,b=c;d', '%', 'x:y', '{z}', '*', 'é', '\n', 'a b'])('may hold any text: %p', async (name) => {
    await load('value', [name, 'plain']);
    expect(await load('never', ['plain', name])).toBe('value');
    await there.cache.invalidateTags([name]);
    expect(await load('next', [name, 'plain'])).toBe('next');
  });

  it('do not come back to life when their token is lost', async () => {
    await load('before');
    await redis().del(tagKey());
    expect(await here.cache.has(key)).toBe(false);
    expect(await load('after')).toBe('after');
    await here.cache.invalidateTags([tag]);
    await redis().del(tagKey());
    expect(await load('new token')).toBe('new token');
  });

  it('keep a load that is running from being found, and cover no caller who came after the invalidation', async () => {
    const gated = new GatedFactory<string>();
    const start = () => here.cache.getOrSet(key, gated.make, { tags: [tag] });
    const first = start();
    await eventually(() => gated.runs === 1);
    await there.cache.invalidateTags([tag]);
    const late = start();
    await here.cache.has(key);
    await here.cache.has(key);
    gated.open(1, 'before');
    expect(await first).toBe('before');
    await eventually(() => gated.runs === 2);
    gated.open(2, 'after');
    expect(await late).toBe('after');
    expect(await here.cache.get(key)).toBe('after');
  });

  it('detach the running loads of their own process at once', async () => {
    const gated = new GatedFactory<string>();
    const start = () => here.cache.getOrSet(key, gated.make, { tags: [tag], stampede: 'local' });
    const first = start();
    await eventually(() => gated.runs === 1);
    await here.cache.invalidateTags([tag]);
    const late = start();
    await eventually(() => gated.runs === 2);
    gated.open(1, 'before');
    gated.open(2, 'after');
    expect(await Promise.all([first, late])).toEqual(['before', 'after']);
  });

  it('may come from the value, by a function or by the factory', async () => {
    const other = [...key, 'by the factory'] as const;
    const byValue = (value: { id: number }) => [`${tag}:${value.id}`];
    await here.cache.getOrSet(key, async () => ({ id: 7 }), { tags: [tag], resultTags: byValue });
    await here.cache.getOrSet(other, async ({ setTags }) => setTags([`${tag}:7`]), { resultTags: true });
    expect(await here.cache.get(key)).toEqual({ id: 7 });
    expect(await here.cache.has(other)).toBe(true);
    await there.cache.invalidateTags([`${tag}:8`]);
    expect(await here.cache.has(key)).toBe(true);
    await there.cache.invalidateTags([`${tag}:7`]);
    expect([await here.cache.has(key), await here.cache.has(other)]).toEqual([false, false]);
  });

  it.each(['nothing is lost', 'the tag is lost', 'the generations are lost'])(
    'from the value: one that is invalidated while the factory runs is not stored, when %s',
    async (loss) => {
      const gated = new GatedFactory<string>();
      const start = () => here.cache.getOrSet(key, gated.make, { resultTags: () => [tag] });
      const first = start();
      await eventually(() => gated.runs === 1);
      const joined = start();
      await here.cache.has(key);
      await there.cache.invalidateTags([tag]);
      if (loss === 'the tag is lost') await redis().del(tagKey());
      if (loss === 'the generations are lost') await redis().del(generations());
      gated.open(1, 'before');
      expect(await first).toBe('before');
      await eventually(() => gated.runs === 2);
      gated.open(2, 'after');
      expect(await joined).toBe('after');
      expect(await here.cache.get(key)).toBe('after');
    },
  );

  it('from the value: an invalidation of another tag does not matter', async () => {
    const gated = new GatedFactory<string>();
    const first = here.cache.getOrSet(key, gated.make, { resultTags: () => ['mine'] });
    await eventually(() => gated.runs === 1);
    await there.cache.invalidateTags(['someone else’s']);
    gated.open(1, 'value');
    await first;
    expect(await here.cache.get(key)).toBe('value');
  });

  it('outlive every entry, and are not renewed at every use', async () => {
    const week = 7 * 86_400_000;
    await load('value');
    expect(await redis().pttl(tagKey())).toBeGreaterThan(week);
    const token = await redis().get(tagKey());
    await redis().pexpire(tagKey(), week + 60_000);
    await here.cache.evict(key);
    await load('value');
    expect(await redis().pttl(tagKey())).toBeLessThanOrEqual(week + 60_000);
    await redis().pexpire(tagKey(), 60_000);
    await here.cache.evict(key);
    await load('value');
    expect(await redis().pttl(tagKey())).toBeGreaterThan(week);
    expect(await redis().get(tagKey())).toBe(token);
    await here.cache.getOrSet([...key, 2], async () => 1, { resultTags: () => [tag] });
    expect(await redis().pttl(generations())).toBeGreaterThan(week);
    expect(await redis().strlen(generations())).toBe(384);
  });

  it('are stored with every value, also when many loads with many tags run at once', async () => {
    const { cache, close } = await openCache(topology, { operationTimeout: '5s' });
    const tags = Array.from({ length: 10 }, (_, n) => `${tag}:${n}`);
    const keys = Array.from({ length: 110 }, (_, n) => [...key, n] as const);
    await Promise.all(keys.map((each) => cache.getOrSet(each, async () => 1, { tags })));
    expect(cache.stats().stored).toBe(keys.length);
    await close();
  });

  it('stand readable in the header', async () => {
    await load('value', ['b', 'a,1']);
    expect(await redis().get(entryKey())).toMatch(/;g=a%2C1=[\w-]{12,},b=[\w-]{12,}\n"value"$/);
  });

  it('refuse what is no list of texts, and result tags that nothing has been prepared for', async () => {
    for (const tags of ['x', [''], [1], [null], Array(101).fill('x')] as never[]) {
      await expect(here.cache.getOrSet(key, async () => 1, { tags })).rejects.toBeInstanceOf(InvalidOptionsError);
      await expect(here.cache.invalidateTags(tags)).rejects.toThrow(/CacheService\.invalidateTags[^]*tags/);
    }
    await expect(here.cache.getOrSet(key, async ({ setTags }) => setTags([tag]))).rejects.toThrow(/resultTags: true/);
    await here.cache.invalidateTags([]);
  });
});
