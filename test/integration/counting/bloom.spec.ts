import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { telemetryChannel } from '../../../libs/redis-patterns/src/telemetry/index.js';
import { describeOn, describeOnEachTopology } from '../../support/topologies.js';
import { openCounting, texts, type OpenCounting } from './test-counting.js';

describeOnEachTopology('Bloom filters', { user: 'counting' }, (topology) => {
  let open: OpenCounting;
  beforeAll(async () => {
    open = await openCounting(topology);
  });
  afterAll(() => open.engine.close());

  const chunk = (name: string, n = 0): string =>
    `${topology.namespace}:bloom~chunk:{${topology.namespace}:bloom:${name}}:${n}`;

  it('invariant 9: deny nothing that they hold, and hold too much about as often as was asked for', async () => {
    const definition = { capacity: 3000, errorRate: 0.01 };
    const filter = open.filters.filter('seen', definition);
    const items = texts('in', 3000);
    expect(await filter.hasMany(items.slice(0, 3))).toEqual([false, false, false]);
    const added = await filter.addMany(items);
    expect(added.filter((each) => !each).length).toBeLessThan(40);
    expect((await filter.hasMany(items)).every((each) => each)).toBe(true);
    const wrong = (await filter.hasMany(texts('out', 5000))).filter((each) => each).length;
    expect(wrong / 5000).toBeGreaterThan(0.004);
    expect(wrong / 5000).toBeLessThan(0.018);
    expect(await filter.add('in-7')).toBe(false);
    const info = await filter.info();
    expect(info).toMatchObject({ ...definition, bytes: 3595 });
    expect(Math.abs(info.items - 3000)).toBeLessThan(100);
    expect(Math.abs(info.fill - 0.5)).toBeLessThan(0.03);
    expect(Math.abs(info.currentErrorRate - 0.01)).toBeLessThan(0.003);
  });

  it('are made with all of their bits, and end at one moment, counted from the first item', async () => {
    const filter = open.filters.filter('made', { capacity: 1000, errorRate: 0.001, ttl: '1h' });
    await filter.add('a');
    const keys = [`${topology.namespace}:bloom:made`, chunk('made')];
    const { client } = topology.admin;
    expect(await client.strlen(keys[1]!)).toBe(Math.ceil(14_378 / 8));
    const ends = await Promise.all(keys.map((key) => client.pexpiretime(key)));
    expect(new Set(ends).size).toBe(1);
    expect((await filter.info()).expiresAt?.getTime()).toBe(ends[0]);
    await filter.addMany(texts('more', 300));
    expect(await client.pexpiretime(keys[0]!)).toBe(ends[0]);
    expect([await filter.clear(), await filter.has('a'), await filter.clear()]).toEqual([true, false, false]);
  });

  it('invariant 9: refuse other parameters, for reading, too', async () => {
    await open.filters.filter('fixed', { capacity: 1000, errorRate: 0.01 }).add('a');
    for (const other of [
      { capacity: 1001, errorRate: 0.01 },
      { capacity: 1000, errorRate: 0.001 },
    ]) {
      const filter = open.filters.filter('fixed', other);
      const calls = [() => filter.has('a'), () => filter.add('b'), () => filter.info()];
      for (const call of calls) await expect(call()).rejects.toMatchObject({ code: 'ERR_BLOOM_MISMATCH' });
    }
    expect(() => open.filters.filter('x', { capacity: 1e9, errorRate: 1e-9 })).toThrow('more than 512 MiB');
    expect(() => open.filters.filter('x', { capacity: 0, errorRate: 1 })).toThrow(/capacity: .*\n.*errorRate: /);
  });

  it('invariant 9: are an error when a part of them is gone, and never a false no', async () => {
    const { client } = topology.admin;
    for (const part of ['header', 'chunk'] as const) {
      const filter = open.filters.filter(part, { capacity: 100, errorRate: 0.01 });
      await filter.add('a');
      await client.del(part === 'header' ? `${topology.namespace}:bloom:header` : chunk('chunk'));
      const calls = [() => filter.has('a'), () => filter.has('b'), () => filter.add('b'), () => filter.info()];
      for (const call of calls) await expect(call()).rejects.toMatchObject({ code: 'ERR_BLOOM_DATA_LOST' });
      await filter.clear();
      expect([await filter.add('a'), await filter.has('a')]).toEqual([true, true]);
    }
  });

  it('tell what is known of them while others begin and drop them', async () => {
    for (let round = 0; round < 10; round++) {
      const filter = open.filters.filter('begun meanwhile', { capacity: 100, errorRate: 0.01 });
      const calls = [filter.info(), filter.add('a'), filter.info(), filter.clear(), filter.info(), filter.add('b')];
      await Promise.all([...calls, filter.info()]);
      expect(await filter.has('b')).toBe(true);
      expect((await filter.info()).items).toBeGreaterThan(0);
      await filter.clear();
    }
  });

  it('above their capacity warn once, or refuse all items of a call', async () => {
    const warnings: unknown[] = [];
    const listen = (message: unknown): void => void warnings.push(message);
    subscribe(telemetryChannel('warning'), listen);
    const warning = open.filters.filter('warning', { capacity: 20, errorRate: 0.01 });
    await warning.addMany(texts('a', 40));
    await warning.addMany(texts('b', 40));
    unsubscribe(telemetryChannel('warning'), listen);
    const mine = warnings.filter((each) => (each as { app: string }).app === topology.namespace);
    expect(mine).toEqual([expect.objectContaining({ code: 'ERR_BLOOM_FULL' })]);
    const refusing = open.filters.filter('refusing', { capacity: 20, errorRate: 0.0001, onFull: 'error' });
    await refusing.addMany(texts('a', 15));
    await expect(refusing.addMany(texts('b', 6))).rejects.toMatchObject({ code: 'ERR_BLOOM_FULL' });
    expect(await refusing.hasMany(texts('b', 6))).toEqual(Array(6).fill(false));
    expect(await refusing.addMany(texts('a', 15))).toEqual(Array(15).fill(false));
    expect(await refusing.addMany(texts('b', 5))).toEqual(Array(5).fill(true));
  });

  it('invariant 7: leave no key without an end', async () => {
    expect((await topology.admin.keys(`${topology.namespace}:*`)).length).toBeGreaterThan(0);
    expect(await topology.admin.keysWithoutEnd(`${topology.namespace}:*`)).toEqual([]);
  });
});

describeOn('standalone', 'a large Bloom filter', { user: 'counting' }, (topology) => {
  it('is made chunk by chunk, and misses each of them', async () => {
    const open = await openCounting(topology);
    const filter = open.filters.filter('large', { capacity: 15_000_000, errorRate: 0.001 });
    const items = texts('in', 300);
    await filter.addMany(items);
    expect((await filter.hasMany(items)).every((each) => each)).toBe(true);
    expect(Math.abs((await filter.info()).items - 300)).toBeLessThan(5);
    const chunks = await topology.admin.keys(`${topology.namespace}:bloom~chunk:*`);
    expect(chunks).toHaveLength(4);
    await topology.admin.client.unlink(chunks[2]!);
    await expect(filter.hasMany(items)).rejects.toMatchObject({ code: 'ERR_BLOOM_DATA_LOST' });
    await filter.clear();
    expect(await topology.admin.keys(`${topology.namespace}:bloom*`)).toEqual([]);
    await open.engine.close();
  });
});
