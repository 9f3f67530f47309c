import { expect, it } from '@jest/globals';
import {
  LeaseLostError,
  UnrecoverableMessageError,
  type StreamContext,
} from '../../../libs/redis-patterns/src/stream/index.js';
import { eventually } from '../../support/eventually.js';
import { describeOnEachTopology } from '../../support/topologies.js';
import { useStreams } from './stream-place.js';
import { QUICK } from './test-streams.js';

/** Ticks come too late to tell anybody anything: only Redis knows who holds an entry. */
const PATIENT = { ...QUICK, lease: 30_000 } as const;

describeOnEachTopology('a run whose entry somebody else has taken', { user: 'stream' }, (topology) => {
  const place = useStreams(topology);
  const { key, companion } = place;

  it.each(['in the stream', 'in the retries'])('changes nothing with what it does %s', async (where) => {
    const { client } = topology.admin;
    const { runtime, producer, admin } = place.streams;
    const effect = companion('effect', 's');
    const inRetries = where === 'in the retries';
    const plane = inRetries ? companion('retry', 's', 'g') : key('s');
    const failures: unknown[] = [];
    const note = (error: unknown): void => void failures.push(error);
    const endings: Record<string, (ctx: StreamContext) => Promise<void>> = {
      throws: () => Promise.reject(new Error('late')),
      gives_up: () => Promise.reject(new UnrecoverableMessageError('late')),
      buries: (ctx) => ctx.deadLetter('late').catch(note),
      retries: (ctx) => ctx.retry({ delay: 1 }).catch(note),
      extends: (ctx) => ctx.extend().catch(note),
      commits: (ctx) => ctx.commit((tx) => tx.call('ZADD', effect, 1, 'done')).catch(note),
    };
    const ended: unknown[] = [];
    const { ready } = runtime.consume({ stream: 's', group: 'g', ...PATIENT }, async (body, ctx) => {
      if (inRetries && ctx.attempt === 1) throw new Error('first');
      const [[entry]] = (await client.xpending(plane, 'g', '-', '+', 1, ctx.consumer)) as [[string]];
      await client.call('XCLAIM', plane, 'g', 'other', 0, entry, 'JUSTID');
      try {
        await endings[body as string]!(ctx);
        // Who still believes to hold it must not acknowledge it, either: none of these resolves in the end.
        ctx.signal.throwIfAborted();
        if (body !== 'retries') throw new Error('late');
      } finally {
        ended.push(body);
      }
    });
    runtime.start();
    await ready;
    const all = Object.keys(endings);
    for (const [n, body] of all.entries()) {
      await producer.publish('s', body);
      await eventually(() => expect(ended).toEqual(all.slice(0, n + 1)));
    }
    await runtime.drain(1000);
    expect((await client.xpending(plane, 'g')) as unknown[]).toEqual([
      all.length,
      expect.any(String),
      expect.any(String),
      [['other', `${all.length}`]],
    ]);
    expect(failures).toEqual(Array.from({ length: 3 }, () => expect.any(LeaseLostError)));
    expect(await admin.deadLetters('s', 'g').count()).toBe(0);
    expect(await client.exists(companion('due', 's', 'g'), companion('due-body', 's', 'g'), effect)).toBe(0);
    expect(await client.xlen(companion('retry', 's', 'g'))).toBe(inRetries ? all.length : 0);
  });
});
