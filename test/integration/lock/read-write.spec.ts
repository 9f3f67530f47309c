import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { LockReentryError, LockService, LockTimeoutError } from 'nestjs-redis-patterns';
import { sleep } from '../../../libs/redis-patterns/src/core/index.js';
import { eventually } from '../../support/eventually.js';
import { describeOnEachTopology } from '../../support/topologies.js';
import { openService, type OpenService } from './open-service.js';

describeOnEachTopology('read/write locks', { user: 'lock' }, (topology) => {
  let opened: OpenService<LockService>[];
  beforeAll(async () => {
    opened = await Promise.all([1, 2].map(() => openService(LockService, topology)));
  });
  afterAll(() => Promise.all(opened.map((each) => each.close())));
  const of = (key: string, process = 0) => opened[process]!.service.readWrite(key);
  const companion = (key: string, role: string) =>
    `${topology.namespace}:rwlock~${role}:{${topology.namespace}:rwlock:${key}}`;
  const queued = (key: string, role: 'readers' | 'writers', count: number) =>
    eventually(async () => expect(await topology.admin.client.zcard(companion(key, role))).toBe(count));
  const keysOf = (key: string) => topology.admin.keys(`${topology.namespace}:rwlock*${key}*`);
  const WAIT = { wait: '30s' } as const;

  it('lets readers in together, a writer alone, and starves neither', async () => {
    const inside = { readers: 0, writers: 0 };
    const most = { readers: 0, writers: 0 };
    const mixes: string[] = [];
    const section = async (side: 'readers' | 'writers', ms: number) => {
      inside[side]++;
      most[side] = Math.max(most[side], inside[side]);
      if (inside.writers > 0 && inside.readers > 0) mixes.push(`${inside.readers} with ${inside.writers}`);
      await sleep(ms);
      inside[side]--;
    };
    const fences: bigint[] = [];
    let ended = { read: 0, write: 0 };
    await Promise.all(
      Array.from({ length: 40 }, async (_, n) => {
        const lock = of('history', n % 2);
        for (let round = 0; round < 3; round++) {
          if (n % 5 === 0) {
            await lock.write.using(WAIT, async (held) => {
              fences.push(held.fence);
              await section('writers', 1);
            });
            ended.write++;
          } else {
            await lock.read.using(WAIT, () => section('readers', 2));
            ended.read++;
          }
        }
      }),
    );
    expect(mixes).toEqual([]);
    expect(most.writers).toBe(1);
    expect(most.readers).toBeGreaterThan(1);
    expect(ended).toEqual({ read: 96, write: 24 });
    expect(fences).toEqual(fences.toSorted((a, b) => (a < b ? -1 : 1)));
    expect(new Set(fences).size).toBe(24);
    await eventually(async () => expect(await keysOf('history')).toEqual([companion('history', 'fence')]));
    for (const { service } of opened) {
      await eventually(() => expect(service.stats()).toEqual({ held: 0, running: 0, cleaning: 0 }));
    }
  }, 60_000);

  it('keeps readers out that come after a waiting writer, and lets them in together after it', async () => {
    const log: string[] = [];
    const first = await of('order').read.acquire();
    const writer = of('order')
      .write.acquire(WAIT)
      .then((held) => (log.push('writer'), held));
    await queued('order', 'writers', 1);
    expect(await of('order', 1).read.tryAcquire()).toBeNull();
    const readers = [0, 1, 0].map((process) =>
      of('order', process)
        .read.acquire(WAIT)
        .then((held) => (log.push('reader'), held)),
    );
    await queued('order', 'readers', 3);
    const last = of('order')
      .write.acquire(WAIT)
      .then((held) => (log.push('last'), held));
    await queued('order', 'writers', 2);
    const refused = await of('order')
      .write.acquire({ wait: 50 })
      .catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(LockTimeoutError);
    const began = performance.now();
    await first.release();
    await (await writer).release();
    const together = await Promise.all(readers);
    await Promise.all(together.map((reader) => reader.release()));
    await (await last).release();
    // By messages: a heartbeat comes after a second and a half at the earliest.
    expect(performance.now() - began).toBeLessThan(1200);
    expect(log).toEqual(['writer', 'reader', 'reader', 'reader', 'last']);
  }, 30_000);

  it('lets in whom a writer kept waiting that gives up, or dies', async () => {
    const holder = await of('gives-up').read.acquire();
    const gone = new AbortController();
    const writer = of('gives-up').write.acquire({ ...WAIT, signal: gone.signal });
    await queued('gives-up', 'writers', 1);
    const reader = of('gives-up').read.acquire(WAIT);
    await queued('gives-up', 'readers', 1);
    const began = performance.now();
    gone.abort(new Error('enough'));
    await expect(writer).rejects.toThrow('enough');
    await (await reader).release();
    // At once, not when the one that gave up counts as dead.
    expect(performance.now() - began).toBeLessThan(1200);
    // A dead one has no heartbeat, and leaves by itself.
    await topology.admin.client.zadd(companion('gives-up', 'writers'), 1, 'dead|1|w');
    await (await of('gives-up').read.acquire()).release();
    await holder.release();
  }, 30_000);

  it('lets a writer in at the end of the leases of readers that are gone', async () => {
    await of('crash').read.acquire({ lease: 300 });
    await of('crash').read.acquire({ lease: 500 });
    const began = performance.now();
    const writer = await of('crash').write.acquire(WAIT);
    const took = performance.now() - began;
    expect(took).toBeGreaterThan(300);
    // Not by the next heartbeat of the waiter, which is seconds away.
    expect(took).toBeLessThan(1500);
    expect(await topology.admin.client.pttl(`${topology.namespace}:rwlock:crash`)).toBeGreaterThan(29_000);
    await writer.release();
  });

  it('makes a reader of a writer without letting another writer in', async () => {
    const writer = await of('downgrade').write.acquire();
    const readers = [of('downgrade').read.acquire(WAIT), of('downgrade', 1).read.acquire(WAIT)];
    await queued('downgrade', 'readers', 2);
    const next = of('downgrade').write.acquire(WAIT);
    await queued('downgrade', 'writers', 1);
    await writer.downgrade();
    expect(writer.canWrite).toBe(false);
    await Promise.all((await Promise.all(readers)).map((reader) => reader.release()));
    expect(await of('downgrade').write.tryAcquire()).toBeNull();
    await writer.extend();
    expect(await writer.release()).toBe(true);
    await (await next).release();
  });

  it('renews and releases its own only, and knows when it is lost', async () => {
    const [one, two] = [await of('own').read.acquire(), await of('own').read.acquire()];
    await topology.admin.client.zrem(`${topology.namespace}:rwlock:own`, `r${one.token}`);
    await expect(one.extend()).rejects.toMatchObject({ code: 'ERR_LOCK_LOST', reason: 'stolen' });
    expect(await one.release()).toBe(false);
    expect(two.isHeld()).toBe(true);
    expect(await two.release()).toBe(true);
  });

  it('refuses to make a writer of a reader, and shares what is held when that is asked for', async () => {
    const lock = of('reentry');
    await lock.read.using({}, async () => {
      await expect(lock.write.acquire({ reentrant: true })).rejects.toThrow(/a reader cannot become a writer/);
      await expect(lock.read.acquire()).rejects.toBeInstanceOf(LockReentryError);
      await lock.read.using({ reentrant: true }, () => undefined);
      expect(
        await of('reentry')
          .write.tryAcquire()
          .catch(() => 'refused'),
      ).toBe('refused');
    });
    await lock.write.using({}, async (writer) => {
      await lock.read.using({ reentrant: true }, (reader) => expect(reader.token).toBe(writer.token));
      expect(writer.canWrite).toBe(true);
    });
    expect(await topology.admin.client.exists(`${topology.namespace}:rwlock:reentry`)).toBe(0);
  });

  it('tells who holds it and how many wait, and changes nothing by that', async () => {
    const lock = of('inspected');
    expect(await lock.inspect()).toBeNull();
    await lock.read.acquire({ lease: 1 }).catch(() => undefined);
    const readers = [await lock.read.acquire(), await of('inspected', 1).read.acquire({ lease: '60s' })];
    const writer = of('inspected', 1).write.acquire(WAIT);
    await queued('inspected', 'writers', 1);
    await eventually(async () => expect(await lock.inspect()).toMatchObject({ side: 'read', holders: 2 }));
    const reading = (await lock.inspect())!;
    expect(reading).toMatchObject({ fence: undefined, waitingReaders: 0, waitingWriters: 1 });
    expect(reading.owners).toEqual(readers.map(({ token }) => token.slice(0, token.indexOf('|'))));
    expect(reading.remainingMs).toBeGreaterThan(30_000);
    await Promise.all(readers.map((reader) => reader.release()));
    const { fence, release } = await writer.then((held) => ({ fence: held.fence, release: () => held.release() }));
    expect(await lock.inspect()).toMatchObject({ side: 'write', holders: 1, fence, waitingWriters: 0 });
    await release();
    expect(await lock.inspect()).toBeNull();
  });
});
