import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { definePolicy, type RateLimitService } from '../../../libs/redis-patterns/src/rate-limit/index.js';
import { describeOnEachTopology } from '../../support/topologies.js';
import { openLimits, type TestLimits } from './test-limits.js';

const ALGORITHMS = ['fixed-window', 'sliding-window', 'sliding-log', 'token-bucket'] as const;
const WINDOW = 60_000;
const BUCKET = WINDOW / 10;

/** A step of the server's clock is what is stored moving the other way. */
describeOnEachTopology('rate limits when the clock of the server steps', { user: 'rateLimit' }, (topology) => {
  let opened: TestLimits;
  let limits: RateLimitService;
  let subjects = 0;
  let subject: string;

  beforeAll(async () => {
    opened = await openLimits(topology);
    ({ limits } = opened);
  });
  afterAll(() => opened?.close());
  beforeEach(() => {
    subject = `user:${++subjects}`;
  });

  /** Moves what a policy has stored by `ms`, as a step back of the clock by `ms` would. */
  async function move(name: (typeof ALGORITHMS)[number], ms: number): Promise<void> {
    const { client } = topology.admin;
    const key = `${topology.namespace}:ratelimit:${name}:{${subject}}`;
    const ttl = (await client.pttl(key)) + ms;
    const later = (us: string): string => String(Number(us) + ms * 1000);
    if (name === 'token-bucket') await client.set(key, later((await client.get(key))!), 'KEEPTTL');
    if (name === 'sliding-log') {
      const units = await client.lrange(key, 0, -1);
      await client.del(key);
      await client.rpush(key, ...units.map(later));
    }
    if (name === 'sliding-window') {
      const counts = Object.entries(await client.hgetall(key));
      await client.del(key);
      const move = (name: string): string => `${Number(name.split(':')[0]) + Math.round(ms / BUCKET)}:${BUCKET}`;
      await client.hset(key, Object.fromEntries(counts.map(([name, n]) => [move(name), n])));
    }
    // What has ended is gone.
    if (ttl > 0) await client.pexpire(key, ttl);
    else await client.del(key);
  }

  describe.each(ALGORITHMS)('with a %s', (algorithm) => {
    const policy = definePolicy(algorithm, { algorithm, limit: 10, window: WINDOW });

    it.each([BUCKET, WINDOW / 2, 10 * WINDOW, 10_000 * WINDOW])(
      'back by %s ms: nobody waits for more than two windows, and the limit holds afterwards',
      async (step) => {
        await limits.consume(policy, subject, { cost: 10 });
        await move(algorithm, step);
        const first = await limits.consume(policy, subject, { cost: 10 });
        expect(first.allowed || first.retryAfterMs <= 2 * WINDOW + BUCKET).toBe(true);
        // A step of more than a window may have let one more in, and no further ones.
        if (step < WINDOW) expect(first.allowed).toBe(false);
        expect(await limits.consume(policy, subject, { cost: 10 })).toMatchObject({ allowed: false });
        const [key] = await topology.admin.keys(`${topology.namespace}:ratelimit:${algorithm}:{${subject}}`);
        expect(await topology.admin.client.pttl(key!)).toBeGreaterThan(0);
      },
    );

    it('forward by a window: one window is admitted again, and no more', async () => {
      await limits.consume(policy, subject, { cost: 10 });
      await move(algorithm, -WINDOW - BUCKET);
      expect(await limits.consume(policy, subject, { cost: 10 })).toMatchObject({ allowed: true, remaining: 0 });
      expect(await limits.consume(policy, subject)).toMatchObject({ allowed: false });
    });
  });
});
