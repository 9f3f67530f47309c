import { expect, it } from '@jest/globals';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { defineStream, GroupInUseError } from '../../../libs/redis-patterns/src/stream/index.js';
import { eventually } from '../../support/eventually.js';
import { describeOnEachTopology } from '../../support/topologies.js';
import { useStreams } from './stream-place.js';
import { gate, QUICK, range } from './test-streams.js';

const STREAM = defineStream({ name: 's', retention: { maxLen: 100 } });

describeOnEachTopology('the retention of a stream', { user: 'stream' }, (topology) => {
  const place = useStreams(topology, { abandonAfter: '1m' });
  const { key, companion } = place;
  const fill = async (count: number): Promise<string[]> => {
    const results = await place.streams.producer.publishMany(
      STREAM,
      range(count).map((payload) => ({ payload })),
    );
    return results.map(({ id }) => id!);
  };
  const firstId = async (): Promise<string> =>
    (await topology.admin.client.xrange(key('s'), '-', '+', 'COUNT', 1))[0]![0];

  it('removes nothing that a group has not finished: not delivered, running, or waiting for its retry', async () => {
    const { runtime, admin } = place.streams;
    const { client } = topology.admin;
    expect(await admin.trim(STREAM)).toBe(0);
    const ids = await fill(1000);
    // Nobody is known to have finished anything.
    expect(await admin.trim(STREAM)).toBe(0);
    await client.xgroup('CREATE', key('s'), 'slow', '0');
    const hold = gate();
    const seen = new Set<unknown>();
    runtime.consume({ stream: STREAM, group: 'fast', ...QUICK, concurrency: 20 }, async (body) => {
      if (body === 600) await hold.opened;
      seen.add(body);
    });
    runtime.start();
    await eventually(() => expect(seen.size).toBe(999), { timeout: 10_000 });
    expect(await admin.trim(STREAM)).toBe(0);
    await client.xreadgroup('GROUP', 'slow', 'foreign', 'COUNT', 1000, 'STREAMS', key('s'), '>');
    await client.xack(key('s'), 'slow', ...ids.slice(0, 400));
    expect(await admin.trim(STREAM)).toBeGreaterThan(200);
    // Whole nodes, of a hundred entries at most.
    expect(ids.indexOf(await firstId())).toBeLessThanOrEqual(400);
    await client.xack(key('s'), 'slow', ...ids);
    await admin.trim(STREAM);
    expect(ids.indexOf(await firstId())).toBeGreaterThan(400);
    expect(ids.indexOf(await firstId())).toBeLessThanOrEqual(600);
    hold.open();
    await eventually(async () => {
      await admin.trim(STREAM);
      expect(await client.xlen(key('s'))).toBeLessThanOrEqual(200);
    });
    expect(await client.xlen(key('s'))).toBeGreaterThanOrEqual(100);
    expect(seen.size).toBe(1000);
  });

  it('is not held back by a group that nobody has served for long', async () => {
    const { runtime, admin } = place.streams;
    const { client } = topology.admin;
    await fill(500);
    await client.xgroup('CREATE', key('s'), 'forgotten', '0');
    const seen: unknown[] = [];
    const { ready } = runtime.consume(
      { stream: STREAM, group: 'g', ...QUICK, concurrency: 50 },
      (body) => void seen.push(body),
    );
    runtime.start();
    await ready;
    await eventually(() => expect(seen).toHaveLength(500), { timeout: 10_000 });
    expect(await admin.trim(STREAM)).toBe(0);
    // It has had no member for less than a minute; let it be more.
    const meta = companion('meta', 's');
    const field = 'group:forgotten';
    await client.hset(meta, field, Number(await client.hget(meta, field)) - 61_000);
    expect(await client.pttl(meta)).toBeGreaterThan(0);
    await eventually(async () => {
      await admin.trim(STREAM);
      expect(await client.xlen(key('s'))).toBeLessThanOrEqual(200);
    });
    await expect(admin.deleteGroup(STREAM, 'g')).rejects.toBeInstanceOf(GroupInUseError);
    expect(await admin.deleteGroup(STREAM, 'forgotten')).toBe(true);
    expect(await admin.deleteGroup(STREAM, 'forgotten')).toBe(false);
    await runtime.drain(100);
    expect(await admin.deleteGroup(STREAM, 'g')).toBe(true);
    expect((await topology.admin.keys(`${place.streams.namespace}:*`)).filter((name) => name.endsWith(':g'))).toEqual(
      [],
    );
  });

  it('tells of entries that were trimmed all the same, and lets no handler see an empty one', async () => {
    const { runtime, admin } = place.streams;
    const { client } = topology.admin;
    const warnings: unknown[] = [];
    const listen = (event: unknown): void => void warnings.push((event as { code?: string }).code);
    subscribe('redis-patterns:warning', listen);
    try {
      await fill(20);
      await client.xgroup('CREATE', key('s'), 'g', '0');
      await client.xreadgroup('GROUP', 'g', 'dead', 'COUNT', 10, 'STREAMS', key('s'), '>');
      await client.xtrim(key('s'), 'MAXLEN', 15);
      const seen: unknown[] = [];
      runtime.consume({ stream: STREAM, group: 'g', ...QUICK }, (body) => void seen.push(body));
      runtime.start();
      await eventually(() => expect(seen).toHaveLength(15), { timeout: 10_000 });
      expect(new Set(seen)).toEqual(new Set(range(20).slice(5)));
      await eventually(async () => expect((await admin.pending(STREAM, 'g'))!.count).toBe(0), { timeout: 10_000 });
      expect(warnings).toContain('ERR_STREAM_TRIMMED');
    } finally {
      unsubscribe('redis-patterns:warning', listen);
    }
  });
});
