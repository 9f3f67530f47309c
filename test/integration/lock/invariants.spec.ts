import { afterAll, beforeAll, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { SingleLocks } from '../../../libs/redis-patterns/src/lock/single-lock.js';
import type { Resource } from '../../../libs/redis-patterns/src/lock/resource.js';
import { eventually } from '../../support/eventually.js';
import { describeOnEachTopology } from '../../support/topologies.js';
import { openLocks, type OpenLocks } from './test-locks.js';

type Step = readonly [who: number, what: 'attempt' | 'again' | 'wait' | 'extend' | 'leave' | 'expire' | 'lose-fence'];

const steps = fc.array(
  fc.tuple(
    fc.integer({ min: 0, max: 2 }),
    fc.constantFrom('attempt', 'again', 'wait', 'extend', 'leave', 'expire', 'lose-fence'),
  ),
  { minLength: 5, maxLength: 25 },
) as fc.Arbitrary<Step[]>;

describeOnEachTopology('what always holds for a lock', { user: 'lock' }, (topology) => {
  let open: OpenLocks;
  beforeAll(async () => {
    open = await openLocks(topology);
  });
  afterAll(() => open.close());

  /** Three callers and what they know: a model of one lock, beside the lock itself. */
  async function play(name: string, script: readonly Step[]): Promise<void> {
    const { client } = topology.admin;
    const wakePrefix = `${topology.namespace}:lock~wake:`;
    const locks = new SingleLocks({ context: open.engine.context, wakePrefix, liveness: 20_000 });
    const keys = locks.keysOf(['model', name]);
    const lock: Resource = locks.resource(keys, true);
    const limits = { deadline: 5000, onLateGrant: () => undefined };
    const tokens = ['', '', ''];
    let serial = 0;
    let holder: number | undefined;
    /** Tokens, as an acquisition that waits is known by its token. */
    let queue: string[] = [];
    const waiter = (token: string): string => `${token}|60000|l`;
    let lastFence = 0n;
    for (const [who, what] of script) {
      if (what === 'attempt' || what === 'wait' || tokens[who] === '') {
        // A new acquisition has a new token, unless the caller holds the lock or waits for it.
        if (holder !== who && !queue.includes(tokens[who]!)) tokens[who] = `model|${name}-${serial++}`;
      }
      const token = tokens[who]!;
      if (what === 'attempt' || what === 'again' || what === 'wait') {
        const { reply } = await lock.attempt(token, what === 'wait' ? waiter(token) : '', 60_000, limits);
        const first = queue[0];
        const granted =
          holder === who || (holder === undefined && (first === undefined || (first === token && what === 'wait')));
        expect([what, reply[0]]).toEqual([what, granted ? 1 : 0]);
        if (granted && holder !== who) {
          expect(BigInt(reply[1]) > lastFence).toBe(true);
          if (what === 'wait') queue = queue.filter((each) => each !== token);
        }
        if (granted) {
          // Its own earlier grant is found again with the same fence, unless that was lost.
          expect(BigInt(reply[1]) >= lastFence).toBe(true);
          lastFence = BigInt(reply[1]);
          holder = who;
        } else if (what === 'wait' && !queue.includes(token)) queue.push(token);
      } else if (what === 'extend') {
        const { reply } = await lock.extend(token, 60_000, limits);
        expect(reply).toBe(holder === undefined ? -1 : Number(holder === who));
      } else if (what === 'leave') {
        const reply = await lock.leave(token, waiter(token), limits);
        expect(reply).toBe(holder === undefined ? -1 : Number(holder === who));
        queue = queue.filter((each) => each !== token);
        if (holder === who) holder = undefined;
        if (holder === undefined && queue.length > 0) holder = tokens.indexOf(queue.shift()!);
      } else if (what === 'expire') {
        await client.del(keys.lock);
        holder = undefined;
      } else {
        await client.del(keys.fence);
      }
      expect(await client.get(keys.lock)).toBe(holder === undefined ? null : tokens[holder]);
      expect(await client.zrange(keys.queue, '0', '-1')).toEqual(queue.map(waiter));
    }
    await client.del(...Object.values(keys));
  }

  it('one token at a time in any order of events, only its own can extend or release, and fences grow', async () => {
    let run = 0;
    await fc.assert(
      fc.asyncProperty(steps, (script) => play(`${run++}`, script)),
      { numRuns: 40 },
    );
  }, 60_000);

  it('the holder stops before Redis lets others in', async () => {
    for (const lease of [100, 1000, 30_000]) {
      const lock = await open.locks.acquire('deadline', { lease });
      const left = await topology.admin.client.pttl(lock.key);
      expect(lock.remaining()).toBeLessThanOrEqual(left);
      await lock.release();
    }
  });

  it('an extension does not create a lock again, and a release after the loss changes nothing', async () => {
    const { client } = topology.admin;
    const lock = await open.locks.acquire('gone');
    await client.del(lock.key);
    await expect(lock.extend()).rejects.toMatchObject({ code: 'ERR_LOCK_LOST', reason: 'expired' });
    expect(await client.exists(lock.key)).toBe(0);
    const next = await open.locks.acquire('gone');
    expect(await lock.release()).toBe(false);
    expect(await client.get(next.key)).toBe(next.token);
    expect(() => lock.assertHeld()).toThrow(expect.objectContaining({ code: 'ERR_LOCK_LOST' }));
    await next.release();
  });

  it('a lock that is taken by force is free, its waiter has it, and its holder learns it', async () => {
    const { locks } = open;
    expect(await locks.forceRelease('force')).toBe(false);
    const stubborn = await locks.acquire('force', { lease: 1000, autoExtend: true });
    const waiting = locks.acquire('force', { wait: '30s' });
    await eventually(async () => expect((await locks.inspect('force'))!.waiting).toBe(1));
    expect(await locks.forceRelease('force')).toBe(true);
    const next = await waiting;
    expect(next.fence > stubborn.fence).toBe(true);
    await new Promise((resolve) => stubborn.signal.addEventListener('abort', resolve));
    expect(stubborn.signal.reason).toMatchObject({ code: 'ERR_LOCK_LOST', reason: 'stolen' });
    expect(await stubborn.release()).toBe(false);
    expect(await next.release()).toBe(true);
  });

  it('a lock that must be confirmed by a replica is, or is given back', async () => {
    const confirmed = await openLocks(topology, { replicaAck: 1 });
    const { locks } = confirmed;
    if (topology.mode === 'standalone') {
      await expect(locks.acquire('confirmed')).rejects.toMatchObject({
        code: 'ERR_LOCK_UNAVAILABLE',
        message: expect.stringContaining('0 of 1 replicas'),
      });
    } else {
      const lock = await locks.acquire('confirmed');
      expect(await locks.tryAcquire('confirmed')).toBeNull();
      await lock.release();
    }
    await eventually(() => expect(locks.stats()).toEqual({ held: 0, running: 0, cleaning: 0 }));
    expect(await locks.inspect('confirmed')).toBeNull();
    await confirmed.close();
  });
});
