import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  abortScript,
  beginScript,
  commitScript,
  evictScript,
  expireScript,
  putScript,
  renewScript,
} from '../../../libs/redis-patterns/src/cache/scripts.generated.js';
import { runScript } from '../../../libs/redis-patterns/src/scripting/index.js';
import { openEngine, type OpenEngine } from '../../support/engine.js';
import { describeOnEachTopology } from '../../support/topologies.js';

describeOnEachTopology('scripts of the cache', { user: 'cache' }, (topology) => {
  let engine: OpenEngine;
  let number = 0;
  let entryKey: string;
  let leaseKey: string;

  beforeAll(async () => {
    engine = await openEngine(topology);
  });
  afterAll(() => engine?.close());
  beforeEach(() => {
    entryKey = `${topology.namespace}:cache:script:${++number}`;
    leaseKey = `${topology.namespace}:cache~lease:{${entryKey}}`;
  });

  const redis = () => topology.admin.client;
  const entry = ({ v = '', i = 'id', w = 0, s = 0 } = {}) => `~1;v=${v};i=${i};w=${w};d=0;s=${s};c=json;z=;k=;g=\n1`;
  const store = (text: string, px = 60_000) => redis().set(entryKey, text, 'PX', px);
  const begin = async (token: string, { seenId = '', schema = 0, lease = 1000 } = {}) =>
    (await runScript(engine.connection, beginScript, [entryKey, leaseKey], [token, lease, seenId, schema]))[0];
  const commit = (token: string, text = entry(), px = 60_000) =>
    runScript(engine.connection, commitScript, [entryKey, leaseKey], [token, text, px]);
  const put = (text: string, { version = '', schema = 0 } = {}) =>
    runScript(engine.connection, putScript, [entryKey, leaseKey], [text, 60_000, version, schema]);
  const evict = (quarantine = 0) => runScript(engine.connection, evictScript, [entryKey, leaseKey], [quarantine]);
  const expire = () => runScript(engine.connection, expireScript, [entryKey, leaseKey], []);

  describe('begin', () => {
    it('gives the lease to the first, again to the same token, and nobody else', async () => {
      expect(await begin('one')).toBe(1);
      expect(await begin('one')).toBe(1);
      expect(await begin('two')).toBe(2);
      expect(await redis().get(leaseKey)).toBe('one');
      const left = await redis().pttl(leaseKey);
      expect(left).toBeGreaterThan(0);
      expect(left).toBeLessThanOrEqual(1000);
    });

    it('gives a fresh entry, but not the one that the caller has seen', async () => {
      await store(entry());
      expect(await runScript(engine.connection, beginScript, [entryKey, leaseKey], ['one', 1000, '', 0])).toEqual([
        0,
        entry(),
        expect.any(Number),
      ]);
      expect(await redis().exists(leaseKey)).toBe(0);
      expect(await begin('one', { seenId: 'id' })).toBe(1);
    });

    it('takes an entry for stale when less than its stale time is left', async () => {
      await store(entry({ w: 50_000 }), 60_000);
      expect(await begin('one')).toBe(0);
      await store(entry({ w: 50_000 }), 40_000);
      expect(await begin('one')).toBe(1);
    });

    it('replaces an entry of a lower schema, and leaves one of a higher', async () => {
      await store(entry({ s: 1 }));
      expect(await begin('one', { schema: 0 })).toBe(3);
      expect(await begin('one', { schema: 1 })).toBe(0);
      expect(await begin('one', { schema: 10 })).toBe(1);
    });

    it('knows quarantine and back-off', async () => {
      await redis().set(leaseKey, '!', 'PX', 60_000);
      expect(await begin('one')).toBe(3);
      await redis().set(leaseKey, '~', 'PX', 60_000);
      await store(entry({ w: 50_000 }), 40_000);
      expect(await begin('one')).toBe(4);
      await redis().del(entryKey);
      expect(await begin('one')).toBe(1);
    });
  });

  describe('commit', () => {
    it('stores for the owner of the lease, and says so again when it is repeated', async () => {
      await begin('one');
      expect(await commit('one', entry({ i: 'x' }))).toBe(1);
      expect(await redis().get(entryKey)).toBe(entry({ i: 'x' }));
      expect(await redis().exists(leaseKey)).toBe(0);
      expect(await commit('one', entry({ i: 'x' }))).toBe(1);
      expect(await commit('one', entry({ i: 'y' }))).toBe(0);
    });

    it.each([
      ['without a lease', async () => {}],
      ['after an eviction', async () => (await begin('one'), await evict())],
      ['after a put', async () => (await begin('one'), await put(entry({ i: 'put' })))],
      ['after a soft expiry', async () => (await begin('one'), await expire())],
      ['in a quarantine', async () => (await begin('one'), await evict(60_000))],
      ['when another one has the lease', async () => (await redis().set(leaseKey, 'two', 'PX', 60_000), undefined)],
    ])('stores nothing %s', async (_name, before) => {
      await before();
      const found = await redis().get(entryKey);
      expect(await commit('one', entry({ i: 'late' }))).toBe(0);
      expect(await redis().get(entryKey)).toBe(found);
    });
  });

  it('abort and renew touch the lease of their token alone', async () => {
    const abort = (token: string) => runScript(engine.connection, abortScript, [leaseKey], [token, 0]);
    const renew = (token: string) => runScript(engine.connection, renewScript, [leaseKey], [token, 60_000]);
    expect([await abort('one'), await renew('one')]).toEqual([0, 0]);
    await begin('one');
    expect([await abort('two'), await renew('two')]).toEqual([0, 0]);
    expect(await renew('one')).toBe(1);
    expect(await redis().pttl(leaseKey)).toBeGreaterThan(50_000);
    expect(await abort('one')).toBe(1);
    expect(await redis().exists(leaseKey)).toBe(0);
  });

  it('put compares versions as numbers of any size, and ends a newer schema', async () => {
    expect(await put(entry({ v: '9' }), { version: '9' })).toBe(1);
    expect(await put(entry({ v: '10' }), { version: '10' })).toBe(1);
    expect(await put(entry({ v: '9' }), { version: '9' })).toBe(0);
    expect(await put(entry({ v: '10', i: 'same' }), { version: '10' })).toBe(1);
    expect(await put(entry({ s: 3 }), { schema: 3 })).toBe(1);
    expect(await put(entry(), { schema: 2 })).toBe(2);
    expect(await redis().exists(entryKey)).toBe(0);
  });

  it('expire leaves a stale copy for its stale time, and deletes an entry without one', async () => {
    await store(entry({ w: 20_000 }), 60_000);
    expect(await expire()).toBe(1);
    expect(await redis().pttl(entryKey)).toBeLessThanOrEqual(20_000);
    expect(await begin('one')).toBe(1);
    await store(entry({ w: 20_000 }), 5_000);
    expect(await expire()).toBe(1);
    expect(await redis().pttl(entryKey)).toBeLessThanOrEqual(5_000);
    await store(entry());
    expect(await expire()).toBe(1);
    expect(await redis().exists(entryKey)).toBe(0);
    expect(await expire()).toBe(0);
  });
});
