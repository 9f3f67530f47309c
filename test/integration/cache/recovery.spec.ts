import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { RedisUnavailableError } from '../../../libs/redis-patterns/src/connection/index.js';
import { telemetryChannel } from '../../../libs/redis-patterns/src/telemetry/index.js';
import { eventually } from '../../support/eventually.js';
import { startOwn, uniqueNamespace, type Topology } from '../../support/topologies.js';
import { openCache, type TestCache } from './test-cache.js';

describe('invalidations that Redis could not be told of', () => {
  let own: Topology;
  let namespace: string;
  const opened: TestCache[] = [];

  beforeAll(async () => {
    own = await startOwn('standalone');
  });
  afterAll(() => own?.stop());
  beforeEach(() => {
    namespace = uniqueNamespace();
  });
  afterEach(async () => {
    own.resume(own.nodes[0]!);
    await Promise.all(opened.splice(0).map((one) => one.close()));
  });

  async function open(max?: number): Promise<TestCache['cache']> {
    const recovery = max === undefined ? {} : { recovery: { max } };
    const one = await openCache({ connection: own.connection, namespace }, recovery, { closeTimeout: 50 });
    opened.push(one);
    return one.cache;
  }

  const whileFrozen = async (work: () => Promise<unknown>): Promise<void> => {
    own.freeze(own.nodes[0]!);
    await expect(work()).rejects.toBeInstanceOf(RedisUnavailableError);
    own.resume(own.nodes[0]!);
  };

  it('of tags are made when it answers; until then its entries are not used here', async () => {
    const [here, there] = await Promise.all([open(), open()]);
    await here.set('k', 'old', { ttl: '1h', tags: ['t'] });
    await whileFrozen(() => here.invalidateTags(['t']));
    expect(await here.getOrSet('k', async () => 'new', { tags: ['t'] })).toBe('new');
    await eventually(async () => expect(await there.has('k')).toBe(false));
    await eventually(() => here.stats().queuedEvictions === 0);
  });

  it('of everything, too', async () => {
    const [here, there] = await Promise.all([open(), open()]);
    await here.setMany(Array.from({ length: 5 }, (_, id) => [['k', id], 'old'] as const));
    await whileFrozen(() => here.clear());
    expect(await here.has(['k', 1])).toBe(false);
    await eventually(async () => expect((await there.getMany([0, 1, 2, 3, 4].map((id) => ['k', id]))).size).toBe(0));
    await eventually(() => here.stats().queuedEvictions === 0);
    expect(await here.set(['k', 1], 'new')).toBe(true);
  });

  it('beyond the limit clear everything, which is reported, and are never forgotten', async () => {
    const reports: { message?: string }[] = [];
    const listen = (message: unknown) => reports.push(message as object);
    subscribe(telemetryChannel('error'), listen);
    const [here, there] = await Promise.all([open(3), open()]);
    const keys = Array.from({ length: 6 }, (_, id) => ['k', id] as const);
    try {
      await here.setMany([...keys, ['other', 1] as const].map((key) => [key, 'old'] as const));
      await whileFrozen(() => here.evictMany(keys));
      expect(here.stats().queuedEvictions).toBeLessThanOrEqual(3);
      // Nothing is known of any key any more.
      expect((await here.getMany([...keys, ['other', 1]])).size).toBe(0);
      await eventually(async () => expect((await there.getMany([...keys, ['other', 1]])).size).toBe(0));
      expect(reports.filter(({ message }) => message?.includes('whole cache is cleared'))).toHaveLength(1);
    } finally {
      unsubscribe(telemetryChannel('error'), listen);
    }
  });

  it('are made once more after a while, as a command that was given up may run late', async () => {
    const [here, there] = await Promise.all([open(), open()]);
    await whileFrozen(() => here.set('k', 'may arrive late'));
    await eventually(() => here.stats().queuedEvictions === 0);
    await there.set('k', 'as if it had arrived now', { ttl: '1h' });
    await eventually(async () => expect(await there.has('k')).toBe(false));
  });
});
