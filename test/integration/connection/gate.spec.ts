import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { RedisUnavailableError } from 'nestjs-redis-patterns';
import { type Operation } from '../../../libs/redis-patterns/src/connection/index.js';
import { eventually } from '../../support/eventually.js';
import { loseReply } from '../../support/lose-reply.js';
import { RedisAdmin } from '../../support/redis-admin.js';
import {
  describeOnEachTopology,
  startOwn,
  startProxy,
  type FaultProxy,
  type PlainConnection,
  type Topology,
  useOwn,
} from '../../support/topologies.js';
import { openConnection } from './open-connection.js';

function increment(
  key: string,
  effect: Operation<number>['effect'],
  more: Partial<Operation<number>> = {},
): Operation<number> {
  return { name: 'test.incr', key, effect, send: (client) => client.incr(key), ...more };
}

async function failureOf(promise: Promise<unknown>): Promise<RedisUnavailableError> {
  return promise.then(
    () => {
      throw new Error('expected a failure');
    },
    (error: RedisUnavailableError) => error,
  );
}

describeOnEachTopology('the gate', (topology) => {
  it('gives the reply', async () => {
    const connection = await openConnection(topology.connection);
    const key = `${topology.namespace}:n`;
    expect(await connection.run(increment(key, 'once'))).toBe(1);
    expect(await connection.run(increment(key, 'once'))).toBe(2);
  });

  it('tells a wrong command from an unavailable Redis, and quotes no argument', async () => {
    const connection = await openConnection(topology.connection);
    const key = `${topology.namespace}:text`;
    await topology.admin.client.set(key, 'x');
    const wrongType = await failureOf(
      connection.run({ name: 'test.lpush', effect: 'once', send: (c) => c.lpush(key, 'hunter2') }),
    );
    expect(wrongType).toMatchObject({ code: 'ERR_REDIS_COMMAND', outcome: 'refused', reply: 'WRONGTYPE' });
    const unknown = await failureOf(
      connection.run({ name: 'test.call', effect: 'once', send: (c) => c.call('FOO', key, 'hunter2') }),
    );
    expect(JSON.stringify([unknown, unknown.message, unknown.cause, (unknown.cause as Error).message])).not.toContain(
      'hunter2',
    );
  });

  it('refuses what was aborted, and an abort in flight leaves the outcome unknown', async () => {
    const connection = await openConnection(topology.connection);
    const before = await failureOf(
      connection.run(increment(`${topology.namespace}:a`, 'once', { signal: AbortSignal.abort() })),
    );
    expect(before).toMatchObject({ code: 'ERR_REDIS_ABORTED', outcome: 'not-sent' });
    const controller = new AbortController();
    const running = failureOf(
      connection.run(increment(`${topology.namespace}:a`, 'once', { signal: controller.signal })),
    );
    controller.abort();
    expect(await running).toMatchObject({ code: 'ERR_REDIS_ABORTED', outcome: 'unknown' });
  });

  it('refuses calls beyond the bulkhead at once, unsent', async () => {
    const connection = await openConnection(topology.connection, { pool: { maxInFlight: 2 } });
    const key = `${topology.namespace}:bulkhead`;
    const calls = await Promise.allSettled(Array.from({ length: 5 }, () => connection.run(increment(key, 'once'))));
    const refused = calls.filter((call) => call.status === 'rejected').map((call) => call.reason as unknown);
    expect(refused).toHaveLength(3);
    for (const error of refused) expect(error).toMatchObject({ code: 'ERR_REDIS_OVERLOADED', outcome: 'not-sent' });
    expect(await topology.admin.client.get(key)).toBe('2');
  });

  it('refuses calls after the end, and ends twice without harm', async () => {
    const connection = await openConnection(topology.connection);
    await Promise.all([connection.close(), connection.close()]);
    const error = await failureOf(connection.run(increment(`${topology.namespace}:x`, 'once')));
    expect(error).toMatchObject({ code: 'ERR_REDIS_CLOSED', outcome: 'not-sent' });
  });

  it('lends blocking sockets, never more than allowed, in order of asking', async () => {
    const connection = await openConnection(topology.connection, { pool: { maxBlocking: 1, acquireTimeout: 50 } });
    let release = (): void => {};
    const released = new Promise<void>((resolve) => (release = resolve));
    const held = connection.withBlocking(async (lease) => {
      await lease.ready();
      expect(await lease.client.ping()).toBe('PONG');
      await released;
      return 'done';
    });
    await eventually(() => connection.stats().pool.blocking === 1);
    const refused = await failureOf(connection.withBlocking(async () => {}));
    expect(refused).toMatchObject({ code: 'ERR_REDIS_OVERLOADED', outcome: 'not-sent' });
    expect(refused.message).toContain('pool.maxBlocking');
    release();
    expect(await held).toBe('done');
    expect(await connection.withBlocking(async () => 'next')).toBe('next');
  });
});

describe('the gate and a Redis that fails', () => {
  const own = useOwn('standalone');

  it('settles by its deadline while Redis hangs, and undoes what succeeds late', async () => {
    const connection = await openConnection(own.topology.connection);
    const node = await own.topology.primary();
    own.topology.freeze(node);
    const late: number[] = [];
    const began = performance.now();
    const error = await failureOf(
      connection.run(increment('hung', 'token', { deadline: 200, onLate: (n) => late.push(n) })),
    );
    const elapsed = performance.now() - began;
    own.topology.resume(node);
    expect(error).toMatchObject({ code: 'ERR_REDIS_DEADLINE', outcome: 'unknown', operation: 'test.incr' });
    expect(elapsed).toBeLessThan(200 + 100);
    await eventually(() => expect(late).toEqual([1]));
  });

  it('fails at once when Redis is gone, waits where that is asked for, and comes back by itself', async () => {
    const connection = await openConnection(own.topology.connection);
    const node = await own.topology.primary();
    await own.topology.kill(node);
    await eventually(() => connection.stats().status !== 'ready');
    const began = performance.now();
    expect(await failureOf(connection.run(increment('gone', 'once')))).toMatchObject({
      code: 'ERR_REDIS_NOT_READY',
      outcome: 'not-sent',
    });
    expect(performance.now() - began).toBeLessThan(100);
    const waiting = connection.run(increment('gone', 'once', { wait: true, deadline: 10_000 }));
    await own.topology.restart(node, { data: 'wipe' });
    expect(await waiting).toBe(1);
  });
});

describe('a pool of two sockets', () => {
  const own = useOwn('standalone');

  it('sends over the one that is left while the other is lost', async () => {
    const connection = await openConnection(own.topology.connection, { pool: { size: 2 } });
    const clients = (await own.admin.client.call('CLIENT', 'LIST')) as string;
    const [, first] = /^id=(\d+) .*:command:1 /m.exec(clients)!;
    expect(clients).toMatch(/:command:2 /);
    await own.admin.client.call('CLIENT', 'KILL', 'ID', first!);
    // Anew it takes 50 ms at least: until then there is only the second.
    await eventually(() => connection.stats().status !== 'ready', { interval: 1 });
    const calls = Array.from({ length: 50 }, () => connection.run(increment('two', 'once')));
    expect(new Set(await Promise.all(calls)).size).toBe(50);
    await eventually(() => connection.stats().status === 'ready');
  });
});

describe('the gate and a caller that never rests', () => {
  it('recovers all the same', async () => {
    const topology = await startOwn('standalone');
    try {
      const connection = await openConnection(topology.connection);
      const node = await topology.primary();
      await topology.kill(node);
      await eventually(() => connection.stats().status !== 'ready');
      const restarted = topology.restart(node, { data: 'wipe' });
      let failures = 0;
      const insist = async (): Promise<number> =>
        connection.run(increment('insist', 'once')).catch(() => {
          failures++;
          return insist();
        });
      expect(await insist()).toBe(1);
      expect(failures).toBeGreaterThan(0);
      await restarted;
    } finally {
      await topology.stop();
    }
  });
});

describe('the gate and a lost reply', () => {
  let topology: Topology;
  let admin: RedisAdmin;
  let proxy: FaultProxy;
  beforeAll(async () => {
    topology = await startOwn('standalone');
    admin = await RedisAdmin.connect(topology.connection);
    proxy = await startProxy((await topology.primary()) as { host: string; port: number });
  });
  afterAll(async () => {
    admin.close();
    await proxy.close();
    await topology.stop();
  });
  const through = (): PlainConnection => ({ mode: 'standalone', host: proxy.host, port: proxy.port });

  it('never repeats what must happen once', async () => {
    const connection = await openConnection(through());
    const call = () => connection.run(increment('once', 'once', { deadline: 2000 }));
    const error = await failureOf(loseReply(proxy, call));
    expect(error).toMatchObject({ code: 'ERR_REDIS_CONNECTION_LOST', outcome: 'unknown' });
    expect(await admin.client.get('once')).toBe('1');
  });

  it.each([true, false])(
    'repeats once what carries a token, whether it waits for a connection or not: %s',
    async (wait) => {
      const connection = await openConnection(through());
      const key = `token ${wait}`;
      const call = () => connection.run(increment(key, 'token', { deadline: 10_000, wait }));
      // The first run happened, the repetition is the second: a script with a token would have found itself.
      expect(await loseReply(proxy, call)).toBe(2);
      expect(await admin.client.get(key)).toBe('2');
    },
  );

  it('says by the deadline that the outcome is unknown when it cannot repeat', async () => {
    const connection = await openConnection(through());
    await proxy.set('dropDown', { cut: true });
    const call = connection.run(increment('unrepeated', 'idempotent', { deadline: 300 }));
    expect(await failureOf(call)).toMatchObject({ code: 'ERR_REDIS_DEADLINE', outcome: 'unknown' });
    await proxy.set('pass');
    // Nothing goes on behind it.
    await eventually(() => connection.run(increment('after', 'read')).then(() => true));
    expect(await admin.client.get('unrepeated')).toBe('1');
  });
});
