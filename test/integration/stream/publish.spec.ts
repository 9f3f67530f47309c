import { expect, it } from '@jest/globals';
import { defineStream, StreamFullError, StreamPublishError } from '../../../libs/redis-patterns/src/stream/index.js';
import { eventually } from '../../support/eventually.js';
import { describeOn, describeOnEachTopology } from '../../support/topologies.js';
import { useStreams } from './stream-place.js';
import { QUICK, range } from './test-streams.js';

describeOnEachTopology('publishing', { user: 'stream' }, (topology) => {
  const place = useStreams(topology, { dedupTtl: 1000 });
  const { key, companion } = place;

  it('publishes many in order, one result each', async () => {
    const { producer } = place.streams;
    const results = await producer.publishMany('s', [
      { payload: 1 },
      { payload: () => 1 },
      { payload: 'x'.repeat(300_000) },
      { payload: 2, type: 't' },
    ]);
    expect(results.map(({ id, error }) => id !== undefined || (error as { code?: string }).code)).toEqual([
      true,
      'ERR_CODEC',
      'ERR_STREAM_PAYLOAD_TOO_LARGE',
      true,
    ]);
    const entries = await topology.admin.client.xrange(key('s'), '-', '+');
    expect(entries.map(([id]) => id)).toEqual([results[0]!.id, results[3]!.id]);
    await expect(producer.publish('s', 'x'.repeat(300_000))).rejects.toBeInstanceOf(StreamPublishError);
    for (const wrong of [{ key: 7 }, { dedupId: '' }, { delay: 'soon' }, { replicaAck: -1 }]) {
      await expect(producer.publish('s', 1, wrong as never)).rejects.toMatchObject({
        code: expect.stringMatching(/ERR_INVALID_(OPTIONS|DURATION)/),
      });
    }
    const typo = { payload: 3, typ: 'placed' };
    const [refused] = await producer.publishMany('s', [typo as never]);
    expect(refused!.error!.message).toContain("typ: unknown option; did you mean 'type'?");
    await expect(producer.publish(undefined as never, 1)).rejects.toThrow(/the stream is undefined; give its name/);
    expect(await topology.admin.client.xlen(key('s'))).toBe(2);
  });

  it('makes one entry of what is published under one dedupId, with one id for all, until its time is over', async () => {
    const { producer } = place.streams;
    const publish = (): Promise<string> => producer.publish('s', 1, { dedupId: 'a:{b}*' });
    const ids = await Promise.all(range(20).map(publish));
    const [first] = ids;
    expect(new Set(ids).size).toBe(1);
    expect(await topology.admin.client.xlen(key('s'))).toBe(1);
    await producer.publish('s', 2, { dedupId: 'another' });
    expect(await topology.admin.client.xlen(key('s'))).toBe(2);
    const keys = (await topology.admin.keys(`${place.streams.namespace}:stream~dedup:*`)).length;
    expect(keys).toBe(2);
    await eventually(async () => expect(await publish()).not.toBe(first), { interval: 100 });
  });

  it('keeps a delayed message back until its time, also from a consumer that starts later, unless it is cancelled', async () => {
    const { producer, runtime, admin } = place.streams;
    const options = { delay: 700, dedupId: 'later', type: 't', key: 'k' };
    const began = performance.now();
    const id = await producer.publish('s', 'later', options);
    expect(id).toMatch(/^d-/);
    expect(await producer.publish('s', 'again', options)).toBe(id);
    const cancelled = await producer.publish('s', 'cancelled', { delay: 100 });
    expect(await producer.cancel('s', cancelled)).toBe(true);
    expect(await producer.cancel('s', cancelled)).toBe(false);
    const [delayed, bodies] = [companion('delayed', 's'), companion('delayed-body', 's')];
    for (const name of [delayed, bodies]) expect(await topology.admin.client.pttl(name)).toBeGreaterThan(0);
    expect(await topology.admin.client.exists(key('s'))).toBe(0);

    const seen: unknown[] = [];
    runtime.consume({ stream: 's', group: 'g', ...QUICK }, (body, ctx) => {
      seen.push([body, ctx.type, ctx.key, performance.now() - began > 690]);
    });
    runtime.start();
    await eventually(() => expect(seen).toEqual([['later', 't', 'k', true]]), { timeout: 10_000 });
    expect(await producer.cancel('s', id)).toBe(false);
    expect(await topology.admin.client.exists(delayed, bodies)).toBe(0);
    expect((await admin.info('s'))!.delayed).toBe(0);
  });

  it('says how many replicas have not confirmed, which does not take the message back', async () => {
    const { producer } = place.streams;
    const replicas = { standalone: 0, sentinel: 2, cluster: 1 }[topology.mode];
    if (replicas > 0) {
      const wish = { replicas, timeout: '10s' } as const;
      expect(await producer.publish('s', 1, { replicaAck: wish })).toMatch(/^\d+-\d+$/);
    }
    const tooMany = { replicas: replicas + 1, timeout: 50 };
    const failure: unknown = await producer.publish('s', 2, { replicaAck: tooMany }).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'ERR_STREAM_REPLICAS', messageId: expect.any(String) });
    const entries = await topology.admin.client.xrange(key('s'), '-', '+');
    expect(entries.at(-1)![1]).toContain((failure as StreamPublishError).messageId);
  });

  it('refuses messages for a stream whose groups do not keep up, until they do', async () => {
    const { producer, runtime } = place.streams;
    const small = defineStream<{ tick: number }>({ name: 'small', retention: { maxLen: 100, maxBacklog: 300 } });
    const publish = () => producer.publish(small, 1, { type: 'tick' });
    await topology.admin.client.xgroup('CREATE', key('small'), 'g', '0', 'MKSTREAM');
    const refusal = await eventually(
      async () => {
        const failures = await Promise.allSettled(range(100).map(publish));
        return failures.find(({ status }) => status === 'rejected') ?? (false as never);
      },
      { interval: 50, timeout: 10_000 },
    );
    expect((refusal as PromiseRejectedResult).reason).toBeInstanceOf(StreamFullError);
    expect(await topology.admin.client.xlen(key('small'))).toBeGreaterThan(300);
    runtime.consume({ stream: small, group: 'g', ...QUICK, concurrency: 100 }, () => undefined);
    runtime.start();
    // What is done is trimmed at once, down to whole nodes above `maxLen`.
    await eventually(async () => expect(await publish()).toMatch(/^\d+-\d+$/), { timeout: 10_000 });
    expect(await topology.admin.client.xlen(key('small'))).toBeLessThanOrEqual(301);
  });
});

describeOn('standalone', 'publishing to a stream with hard retention', { user: 'stream' }, (topology) => {
  const place = useStreams(topology);

  it('keeps about as many entries as it says, done or not', async () => {
    const small = defineStream<{ tick: number }>({ name: 'small', retention: { mode: 'hard', maxLen: 100 } });
    for (let round = 0; round < 5; round++) {
      await place.streams.producer.publishMany(
        small,
        range(200).map((payload) => ({ payload, type: 'tick' as const })),
      );
    }
    const { length } = (await place.streams.admin.info(small))!;
    expect(length).toBeGreaterThanOrEqual(100);
    expect(length).toBeLessThanOrEqual(300);
  });
});
