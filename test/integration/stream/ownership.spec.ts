import { expect, it } from '@jest/globals';
import {
  LeaseLostError,
  UnrecoverableMessageError,
  type StreamContext,
} from '../../../libs/redis-patterns/src/stream/index.js';
import { runScript } from '../../../libs/redis-patterns/src/scripting/index.js';
import { ackOrderedScript } from '../../../libs/redis-patterns/src/stream/scripts.generated.js';
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

  it('can acknowledge, but not where there is an order and the message runs again', async () => {
    const { client } = topology.admin;
    const { runtime, producer, context } = place.streams;
    const [retries, lanes, parked] = ['retry', 'lanes', 'parked'].map((role) => companion(role, 's', 'ordered'));
    const ended: Record<string, unknown> = {};
    /** The newest one: what came back to a consumer is older. */
    const heldBy = async (group: string, consumer: string): Promise<[plane: string, entry: string]> => {
      const plane = group === 'ordered' ? retries! : key('s');
      const held = (await client.xpending(plane, group, '-', '+', 10, consumer)) as [string][];
      return [plane, held.at(-1)![0]];
    };
    const take = async (group: string, { consumer }: StreamContext): Promise<void> => {
      const [plane, entry] = await heldBy(group, consumer);
      await client.call('XCLAIM', plane, group, 'other', 0, entry, 'JUSTID');
    };
    const before: Record<string, (ctx: StreamContext) => Promise<unknown>> = {
      runs_elsewhere: (ctx) => take('ordered', ctx),
      // Somebody had it, and it waits for its next attempt.
      failed_elsewhere: async ({ consumer }) =>
        client.xack(retries!, 'ordered', (await heldBy('ordered', consumer))[1]),
      // As when the answer to an acknowledgement is lost: it is made once more.
      done: async ({ consumer }) => {
        const [, entry] = await heldBy('ordered', consumer);
        const keys = [retries!, lanes!, parked!] as const;
        await runScript(context.connection, ackOrderedScript, [...keys], ['ordered', consumer, entry]);
      },
    };
    const acknowledge = async (name: string, ctx: StreamContext): Promise<void> => {
      const attempt = () => Promise.all([ctx.ack(), ctx.ack()]).then(() => 'acknowledged');
      const outcome = await attempt().catch((error: unknown) => error);
      ended[name] = [outcome, ctx.signal.aborted];
      if (outcome === 'acknowledged' || !name.startsWith('runs_elsewhere')) return;
      // It comes back: the run that had lost it is none the wiser, and another one is due.
      const [, entry] = await heldBy('ordered', 'other');
      await client.call('XCLAIM', retries!, 'ordered', ctx.consumer, 0, entry, 'JUSTID');
      await expect(ctx.ack()).rejects.toBeInstanceOf(LeaseLostError);
    };
    const options = { stream: 's', ...PATIENT, concurrency: 1, prefetch: 0 };
    const consumers = [
      runtime.consume({ ...options, group: 'ordered', ordering: 'key' }, async (body, ctx) => {
        await before[body as string]!(ctx);
        await acknowledge(`${String(body)}, ${ctx.key ?? 'no key'}`, ctx);
      }),
      runtime.consume({ ...options, group: 'g', type: 'first' }, async (_, ctx) => {
        await take('g', ctx);
        await acknowledge('without an order', ctx);
      }),
      runtime.consume({ ...options, group: 'g' }, () => undefined),
    ];
    runtime.start();
    await Promise.all(consumers.map(({ ready }) => ready));
    await producer.publish('s', 'done', { type: 'first', key: 'k' });
    for (const body of ['done', 'runs_elsewhere', 'failed_elsewhere']) await producer.publish('s', body);
    for (const body of ['runs_elsewhere', 'done']) await producer.publish('s', body, { key: 'k' });
    const [done, refused] = [
      ['acknowledged', false],
      [expect.any(LeaseLostError), true],
    ];
    await eventually(() =>
      expect(ended).toEqual({
        'done, k': done,
        'done, no key': done,
        'runs_elsewhere, no key': refused,
        'failed_elsewhere, no key': refused,
        'runs_elsewhere, k': refused,
        'without an order': done,
      }),
    );
    await runtime.drain(1000);
    // The key waits for the run that is due.
    expect(await place.streams.admin.lane('s', 'ordered', 'k')).toMatchObject({ waiting: 1 });
    expect((await place.streams.admin.pending('s', 'g'))!.count).toBe(0);
  });
});
