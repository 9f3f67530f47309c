import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Test } from '@nestjs/testing';
import {
  FeedService,
  RedisPatternsModule,
  type Feed,
  type FeedEntry,
  type RedisPatternsOptions,
} from 'nestjs-redis-patterns';
import type { OpenEngine } from '../../support/engine.js';
import { describeOnEachTopology } from '../../support/topologies.js';
import { openFeeds } from './test-feeds.js';

describeOnEachTopology('feeds', { user: 'feed' }, (topology) => {
  let engine: OpenEngine;
  let feeds: FeedService;
  let other: { feeds: FeedService; engine: OpenEngine };
  beforeAll(async () => {
    ({ engine, feeds } = await openFeeds(topology));
    other = await openFeeds(topology);
  });
  afterAll(async () => {
    await engine.close();
    await other.engine.close();
  });

  async function all<Item>(feed: Feed<Item>, size = 7): Promise<FeedEntry<Item>[]> {
    const entries: FeedEntry<Item>[] = [];
    for (let before: string | undefined; ; before = entries.at(-1)!.id) {
      const page = await feed.page({ size, ...(before === undefined ? {} : { before }) });
      entries.push(...page);
      if (page.length < size) return entries;
    }
  }

  it('show what was pushed, newest first, as it was', async () => {
    const feed = feeds.feed<unknown>(['user', 42]);
    const before = Date.now() - 60_000;
    const items = [{ kind: 'order', at: new Date(7) }, 'text', 0, null, new Map([[1, 'ü']])];
    const ids: string[] = [];
    for (const item of items) ids.push(await feed.push(item));
    const page = await feed.page();
    expect(page.map(({ id }) => id)).toEqual(ids.toReversed());
    expect(page.map(({ item }) => item)).toEqual(items.toReversed());
    expect(page.every(({ at }) => Math.abs(at.getTime() - before) < 120_000)).toBe(true);
    expect(await topology.admin.keys(`${topology.namespace}:feed*`)).toContain(`${topology.namespace}:feed:user:42`);
  });

  it('invariant 10: pages neither skip nor repeat while others push, and never hold more than their most', async () => {
    const max = 300;
    const feed = feeds.feed<number>('busy', { max });
    for (let n = 0; n < 100; n++) await feed.push(n);
    let pushing = true;
    const writers = [feed, other.feeds.feed<number>('busy', { max })].map(async (writer) => {
      for (let n = 0; pushing && n < 90; n++) await writer.push(1000 + n);
    });
    const entries = await all(feed, 9);
    pushing = false;
    await Promise.all(writers);
    expect(new Set(entries.map(({ id }) => id)).size).toBe(entries.length);
    expect(entries.map(({ item }) => item).filter((item) => item < 1000)).toEqual(
      Array.from({ length: 100 }, (_, n) => 99 - n),
    );
    const small = feeds.feed<number>('small', { max: 10 });
    await Promise.all(
      Array.from({ length: 60 }, async (_, n) => {
        await small.push(n);
        expect(await small.size()).toBeLessThanOrEqual(10);
      }),
    );
    expect((await all(small)).length).toBe(10);
  });

  it('replace what has the same id, take in what is older, and let entries go', async () => {
    const feed = feeds.feed<string>('edited');
    const [first, second] = [await feed.push('first'), await feed.push('second')];
    await feed.push('first, edited', { id: first });
    await feed.push('first, edited', { id: first });
    const old = await feed.push('long ago', { at: new Date('2020-01-01') });
    expect((await all(feed)).map(({ id, item }) => [id, item])).toEqual([
      [second, 'second'],
      [first, 'first, edited'],
      [old, 'long ago'],
    ]);
    expect((await feed.page()).at(-1)!.at).toEqual(new Date('2020-01-01'));
    expect([await feed.remove(first), await feed.remove(first)]).toEqual([true, false]);
    expect((await all(feed)).map(({ item }) => item)).toEqual(['second', 'long ago']);
    expect([await feed.clear(), await feed.size()]).toEqual([true, 0]);
  });

  it('remove all that match, page by page', async () => {
    const feed = feeds.feed<{ n: number }>('matching');
    await Promise.all(Array.from({ length: 450 }, (_, n) => feed.push({ n })));
    expect(await feed.removeIf(({ n }) => n % 3 === 0)).toBe(150);
    expect(await feed.removeIf((_, { at }) => at.getTime() < 0)).toBe(0);
    expect((await all(feed, 100)).every(({ item }) => item.n % 3 !== 0)).toBe(true);
    expect(await feed.size()).toBe(300);
  });

  it('know what was read, and never less than before; all keys end at one moment', async () => {
    const feed = feeds.feed('read', { ttl: '1h' });
    const ids: string[] = [];
    for (let n = 0; n < 5; n++) ids.push(await feed.push(n));
    const unread = [await feed.unread()];
    await feed.markRead(ids[2]);
    unread.push(await feed.unread());
    await feed.markRead(ids[0]);
    unread.push(await feed.unread());
    await feed.markRead();
    unread.push(await feed.unread());
    await feed.push('more');
    unread.push(await feed.unread());
    expect(unread).toEqual([5, 2, 2, 0, 1]);
    const keys = await topology.admin.keys(`${topology.namespace}:feed*read*`);
    expect(keys).toHaveLength(2);
    const ends = await Promise.all(keys.map((key) => topology.admin.client.pexpiretime(key)));
    expect(new Set(ends).size).toBe(1);
    expect(Math.abs(ends[0]! - Date.now() - 3_600_000)).toBeLessThan(60_000);
  });

  it('invariant 10: fan out to feeds in all slots, twice as once, and say which were not written', async () => {
    const names = Array.from({ length: 600 }, (_, n) => ['follower', n] as const);
    const { id, written, failed } = await feeds.fanOut(names, { postId: 7 }, { max: 20 });
    expect([written, failed]).toEqual([600, []]);
    // Many at once, which the connection has no room for.
    const again = Array.from({ length: 8 }, () => other.feeds.fanOut(names, { postId: 7 }, { max: 20, id }));
    for (const result of await Promise.all(again)) expect(result).toEqual({ id, written: 600, failed: [] });
    const pages = await Promise.all(names.map((name) => feeds.feed(name, { max: 20 }).page()));
    expect(pages.every((page) => page.length === 1 && page[0]!.id === id)).toBe(true);
    const foreign = ['follower', 7] as const;
    await topology.admin.client.set(`${topology.namespace}:feed:follower:7`, 'no feed', 'EX', 60);
    expect(await feeds.fanOut(names, 'next', { max: 20 })).toMatchObject({ written: 599, failed: [foreign] });
    const stopped = { max: 20, signal: AbortSignal.abort() };
    expect(await feeds.fanOut(names, 'never', stopped)).toMatchObject({ written: 0, failed: names });
  });

  describe('that are loaded', () => {
    it('are filled once by the first page, with what was pushed meanwhile, and again when they have expired', async () => {
      let loads = 0;
      const pushed = feeds.feed<string>('loaded');
      const known = await pushed.push('known');
      const load = async ({ max }: { max: number }) => {
        loads++;
        expect(max).toBe(400);
        await pushed.push('meanwhile');
        const old = Array.from({ length: 450 }, (_, n) => ({ item: `old ${n}`, at: new Date(1e9 + n) }));
        return [{ item: 'known', id: known }, ...old];
      };
      const feed = (): Feed<string> => feeds.feed<string>('loaded', { max: 400, load });
      const pages = await Promise.all(Array.from({ length: 5 }, () => feed().page({ size: 3 })));
      expect(pages.map((page) => page.map(({ item }) => item))).toEqual(
        Array(5).fill(['meanwhile', 'known', 'old 449']),
      );
      expect([loads, await feed().size()]).toEqual([1, 400]);
      await feed().page({ before: known });
      expect(loads).toBe(1);
      // Evicted alone, the mark is made again, and nothing stands there twice.
      await topology.admin.deleteKeys(`${topology.namespace}:feed~loaded:*`);
      expect((await feed().page({ size: 4 })).map(({ item }) => item)).toEqual([
        'meanwhile',
        'meanwhile',
        'known',
        'old 449',
      ]);
      expect(loads).toBe(2);
      const ends = (await topology.admin.keys(`${topology.namespace}:feed*loaded*`)).map((key) =>
        topology.admin.client.pexpiretime(key),
      );
      expect(new Set(await Promise.all(ends)).size).toBe(1);
    });

    it('stay empty without asking again, and pass on an error', async () => {
      let loads = 0;
      const empty = feeds.feed('nothing', { load: async () => (loads++, []) });
      expect([await empty.page(), await empty.page(), loads]).toEqual([[], [], 1]);
      const failure = new Error('of the database');
      const failing = feeds.feed('failing', { load: () => Promise.reject(failure) });
      await expect(failing.page()).rejects.toBe(failure);
      const wrong = feeds.feed('wrong', { load: async () => [{ item: 1 }] });
      await expect(wrong.page()).rejects.toThrow('load()[0].at: must be a Date');
      const rowless = feeds.feed('rowless', { load: async () => null as never });
      await expect(rowless.page()).rejects.toThrow('load: must give a list of entries');
      const bare = feeds.feed('bare', { load: async () => [null as never] });
      await expect(bare.page()).rejects.toThrow('load()[0]: must be { item, at } or { item, id }');
    });
  });

  it('take their defaults from the module', async () => {
    const { connection } = topology;
    const boot = (feed: object) => {
      const options = { namespace: topology.namespace, connection, feed } as RedisPatternsOptions;
      return Test.createTestingModule({ imports: [RedisPatternsModule.forRoot(options)] }).compile();
    };
    await expect(boot({ max: 0 })).rejects.toThrow('feed.max: must be an integer from 1');
    const app = await (await boot({ max: 3, ttl: '1h' })).init();
    const feed = app.get(FeedService).feed('of-the-module');
    for (let n = 0; n < 5; n++) await feed.push(n);
    expect(await feed.size()).toBe(3);
    await app.close();
  });

  it('refuse what is no id, size, moment or definition', async () => {
    const feed = feeds.feed('refused');
    await expect(feed.push(1, { id: '7' })).rejects.toThrow('id: must be an id of an entry, a ULID');
    await expect(feed.push(1, { at: new Date(NaN) })).rejects.toThrow('at: must be a Date');
    await expect(feed.push(() => 1)).rejects.toMatchObject({ code: 'ERR_CODEC' });
    await expect(feed.page({ before: '(x' })).rejects.toThrow('before: must be an id');
    await expect(feed.page({ size: 0 })).rejects.toThrow('size: must be an integer from 1 to 1000');
    await expect(feeds.fanOut(['a', ['b', '']], 1)).rejects.toThrow('has nothing in part 1');
    expect(() => feeds.feed('x', { max: 0 })).toThrow('max: must be an integer from 1');
    expect(await topology.admin.keys(`${topology.namespace}:feed:{refused,a}`)).toEqual([]);
  });

  it('invariant 7: leave no key without an end', async () => {
    expect((await topology.admin.keys(`${topology.namespace}:*`)).length).toBeGreaterThan(0);
    expect(await topology.admin.keysWithoutEnd(`${topology.namespace}:*`)).toEqual([]);
  });
});
