import { expect, it } from '@jest/globals';
import { eventually } from '../../support/eventually.js';
import { describeOnEachTopology } from '../../support/topologies.js';
import { useStreams } from './stream-place.js';
import { gate, QUICK, range } from './test-streams.js';

describeOnEachTopology('streams', { user: 'stream' }, (topology) => {
  const place = useStreams(topology);
  const { key, companion, pendingCount } = place;

  it('runs a published message once in each group and acknowledges it', async () => {
    const seen: unknown[] = [];
    for (const group of ['billing', 'shipping']) {
      place.streams.runtime.consume({ stream: 'orders', group, ...QUICK }, (body, ctx) => {
        seen.push([group, body, ctx.type, ctx.key, { ...ctx.headers }, ctx.attempt, ctx.deliveryCount, ctx.stream]);
      });
    }
    place.streams.runtime.start();
    const at = new Date(0);
    await place.streams.producer.publish(
      'orders',
      { id: 7, at },
      { type: 'placed', key: '7', headers: { trace: 'ü' } },
    );
    await eventually(() => expect(seen).toHaveLength(2));
    const rest = [{ id: 7, at }, 'placed', '7', { trace: 'ü' }, 1, 1, 'orders'];
    expect(seen).toEqual(
      expect.arrayContaining([
        ['billing', ...rest],
        ['shipping', ...rest],
      ]),
    );
    for (const group of ['billing', 'shipping']) {
      await eventually(async () => expect(await pendingCount('orders', group)).toBe(0));
    }
    expect(await place.streams.admin.info('orders')).toMatchObject({ length: 1, groups: 2 });
  });

  it('lays out an entry with all fields in one order, and every key in the slot of the stream with a bound', async () => {
    const roles = ['dlq', 'floor', 'members', 'retry'];
    const id = await place.streams.producer.publish('orders', { a: 1 });
    const [entry] = await topology.admin.client.xrange(key('orders'), '-', '+');
    expect(entry![0]).toBe(id);
    const [type, , data, json, mid, uuid, ...rest] = entry![1];
    expect([type, data, json, mid, rest]).toEqual(['type', 'data', '{"a":1}', 'mid', ['key', '', 'headers', '']]);
    expect(uuid).toMatch(/^[0-9a-f-]{36}$/);
    const { ready } = place.streams.runtime.consume(
      { stream: 'orders', group: 'g:1', ...QUICK, retry: { attempts: 1 } },
      () => {
        throw new Error('no');
      },
    );
    place.streams.runtime.start();
    await ready;
    await eventually(async () => expect(await place.streams.admin.deadLetters('orders', 'g:1').list()).toHaveLength(1));
    await eventually(async () =>
      expect(await topology.admin.keys(`${place.streams.namespace}:*`)).toEqual(
        [key('orders'), ...roles.map((role) => companion(role, 'orders', 'g%3A1'))].toSorted(),
      ),
    );
    for (const role of roles) {
      expect(await topology.admin.client.pttl(companion(role, 'orders', 'g%3A1'))).toBeGreaterThan(0);
    }
  });

  it('starts a new group at the beginning by default, at the end, at an id, or at a time', async () => {
    const ids: string[] = [];
    for (const n of range(3)) ids.push(await place.streams.producer.publish('s', n));
    const seen: Record<string, unknown[]> = { all: [], end: [], id: [], time: [] };
    const at = new Date(Number(ids[1]!.split('-')[0]));
    const start = { all: undefined, end: '$', id: ids[0]!, time: at };
    const all = Object.entries(start).map(([group, startFrom]) =>
      place.streams.runtime.consume(
        { stream: 's', group, ...QUICK, ...(startFrom && { startFrom }), concurrency: 1 },
        (body) => void seen[group]!.push(body),
      ),
    );
    place.streams.runtime.start();
    await Promise.all(all.map(({ ready }) => ready));
    await place.streams.producer.publish('s', 'new');
    await eventually(() => {
      expect(seen.all).toEqual([0, 1, 2, 'new']);
      expect(seen.end).toEqual(['new']);
      expect(seen.id).toEqual([1, 2, 'new']);
      // Entries of the same millisecond belong to it.
      expect(seen.time).toEqual(expect.arrayContaining([1, 2, 'new']));
    });
  });

  it('runs no more handlers at a time than it may, and holds no more entries than it has room for', async () => {
    const hold = gate();
    let running = 0;
    let most = 0;
    let done = 0;
    await place.streams.producer.publishMany(
      's',
      range(100).map((payload) => ({ payload })),
    );
    place.streams.runtime.consume({ stream: 's', group: 'g', ...QUICK, concurrency: 3, prefetch: 4 }, async () => {
      most = Math.max(most, ++running);
      await hold.opened;
      running--;
      done++;
    });
    place.streams.runtime.start();
    await eventually(async () => expect(await pendingCount('s', 'g')).toBe(7));
    await eventually(async () => expect((await place.streams.admin.groups('s'))[0]!.lag).toBe(93));
    hold.open();
    await eventually(() => expect(done).toBe(100));
    expect(most).toBe(3);
    await eventually(async () => expect(await pendingCount('s', 'g')).toBe(0));
  });

  it('holds no more payload than maxBufferedBytes, however long the backlog', async () => {
    const hold = gate();
    let done = 0;
    const payload = 'x'.repeat(1000);
    await place.streams.producer.publishMany(
      's',
      range(200).map(() => ({ payload })),
    );
    place.streams.runtime.consume(
      { stream: 's', group: 'g', ...QUICK, concurrency: 100, prefetch: 100, maxBufferedBytes: 10_000 },
      async () => {
        await hold.opened;
        done++;
      },
    );
    place.streams.runtime.start();
    await eventually(async () => expect(await pendingCount('s', 'g')).toBeGreaterThan(5));
    // The first read does not know the sizes yet and guesses 256 bytes; none comes after it.
    const held = await pendingCount('s', 'g');
    expect(held).toBeLessThanOrEqual(40);
    hold.open();
    await eventually(() => expect(done).toBe(200));
  });

  it('routes by type, and leaves the rest to the handler without one', async () => {
    const seen: unknown[] = [];
    const base = { stream: 'orders', group: 'g', ...QUICK } as const;
    place.streams.runtime.consume({ ...base, type: 'placed' }, (body) => void seen.push(['placed', body]));
    place.streams.runtime.consume({ ...base, type: ['paid', 'refunded'] }, (body) => void seen.push(['money', body]));
    place.streams.runtime.consume(base, (body) => void seen.push(['rest', body]));
    place.streams.runtime.start();
    const types = ['placed', 'paid', 'refunded', 'lost', undefined];
    for (const [n, type] of types.entries()) await place.streams.producer.publish('orders', n, type ? { type } : {});
    await eventually(() => expect(seen).toHaveLength(5));
    expect(seen).toEqual(
      expect.arrayContaining([
        ['placed', 0],
        ['money', 1],
        ['money', 2],
        ['rest', 3],
        ['rest', 4],
      ]),
    );
  });
});
