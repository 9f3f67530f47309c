// Values that are bigger than what may wait in a socket.
import { afterEach, describe, expect, it } from '@jest/globals';
import { openEngine, type OpenEngine } from '../../support/engine.js';
import { eventually } from '../../support/eventually.js';
import { RedisAdmin } from '../../support/redis-admin.js';
import { startPlace, type Place } from '../support/faults-place.js';
import { modesOf } from '../support/faults-runner.js';

const KIB = 1024;
const VALUE = 'v'.repeat(256 * KIB);
const MAX_BUFFERED = 1024 * KIB;
/** What the kernels of both sides take in beside that: buffers on the loopback interface grow to some MiB. */
const KERNEL = 16 * 1024 * KIB;
const CALLS = 200;

describe.each(modesOf({ short: ['cluster'] }))('big values, %s', (mode) => {
  let place: Place;
  let engine: OpenEngine | undefined;
  afterEach(async () => {
    await engine?.close();
    await place?.stop();
  });

  it('are refused when the socket holds enough, and what was refused is never written', async () => {
    place = await startPlace(mode, { acl: false });
    const { own, namespace } = place;
    const pool = { maxBufferedBytes: MAX_BUFFERED };
    engine = await openEngine({ connection: own.connection, namespace }, { pool, closeTimeout: 500 });
    const { connection } = engine;
    const set = (n: number): Promise<string> => {
      // One slot: in a Cluster one socket takes it all.
      const key = `{${namespace}:big}:${n}`;
      return connection
        .run({ name: 'chaos.set', effect: 'once', key, send: (client) => client.set(key, VALUE) })
        .then(String, (error: { code: string; outcome: string }) => `${error.outcome} ${error.code}`);
    };
    const masters = await own.masters();
    for (const master of masters) own.freeze(master);
    const ends = await Promise.all(Array.from({ length: CALLS }, (_, n) => set(n)));
    for (const master of masters) own.resume(master);
    const refused = ends.flatMap((end, n) => (end === 'not-sent ERR_REDIS_OVERLOADED' ? [n] : []));
    expect((CALLS - refused.length) * VALUE.length).toBeLessThan(MAX_BUFFERED + KERNEL);
    expect(refused.length).toBeGreaterThan(0);
    await eventually(async () => expect(await set(CALLS)).toBe('OK'), { timeout: 15_000 });
    const admin = await RedisAdmin.connect(own.connection);
    const written = await admin.keys(`{${namespace}:big}:*`);
    admin.close();
    expect(refused.filter((n) => written.includes(`{${namespace}:big}:${n}`))).toEqual([]);
  });
});
