import { expect, it } from '@jest/globals';
import { defineStream, StreamPublishError } from '../../../libs/redis-patterns/src/stream/index.js';
import { describeOnEachTopology } from '../../support/topologies.js';
import { useStreams } from './stream-place.js';
import { range } from './test-streams.js';

describeOnEachTopology('publishing', { user: 'stream' }, (topology) => {
  const place = useStreams(topology);
  const { key } = place;

  it('publishes many in order, one result each', async () => {
    const results = await place.streams.producer.publishMany('s', [
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
    await expect(place.streams.producer.publish('s', 'x'.repeat(300_000))).rejects.toBeInstanceOf(StreamPublishError);
    await expect(place.streams.producer.publish('s', 1, { key: 7 as never })).rejects.toMatchObject({
      code: 'ERR_INVALID_OPTIONS',
    });
  });

  it('keeps about as many entries as the retention of the stream says', async () => {
    const small = defineStream<{ tick: number }>({ name: 'small', retention: { maxLen: 100 } });
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
