import { describe, expect, it } from '@jest/globals';
import type { RedisUnavailableError } from 'nestjs-redis-patterns';
import type { ManagedConnection, Operation } from '../../../libs/redis-patterns/src/connection/index.js';
import { slotOf } from '../../../libs/redis-patterns/src/keys/index.js';
import { eventually } from '../../support/eventually.js';
import { RedisAdmin } from '../../support/redis-admin.js';
import {
  describeOnEachTopology,
  startOwn,
  startProxy,
  type PlainConnection,
  useOwn,
} from '../../support/topologies.js';
import { openConnection } from './open-connection.js';

function open(connection: PlainConnection, options: object = {}): Promise<ManagedConnection> {
  return openConnection(connection, { commandTimeout: 100, ...options });
}

function increment(key: string, more: Partial<Operation<number>> = {}): Operation<number> {
  return { name: 'test.incr', key, effect: 'once', send: (client) => client.incr(key), ...more };
}

/** Code of the failure, or `'ok'`. */
function codeOf(call: Promise<unknown>): Promise<string> {
  return call.then(
    () => 'ok',
    (error: RedisUnavailableError) => error.code,
  );
}

function times<T>(count: number, make: (n: number) => T): T[] {
  return Array.from({ length: count }, (_, n) => make(n));
}

describe('invariant 7: the breaker of a server that hangs', () => {
  const own = useOwn('standalone');

  it('opens after as many calls as it says, lets only PING through, and closes when that is answered', async () => {
    const connection = await open(own.topology.connection, { breaker: { failures: 3, openFor: '50ms' } });
    const node = await own.topology.primary();
    own.topology.freeze(node);
    const first = await Promise.all(times(3, () => codeOf(connection.run(increment('hung')))));
    expect(first).toEqual(times(3, () => 'ERR_REDIS_DEADLINE'));
    expect(connection.stats().breaker).toEqual({ state: 'open', openNodes: [node.address] });

    const began = performance.now();
    const refused = await connection.run(increment('hung')).catch((error: RedisUnavailableError) => error);
    expect(refused).toMatchObject({ code: 'ERR_REDIS_BREAKER_OPEN', outcome: 'not-sent' });
    expect(performance.now() - began).toBeLessThan(90);

    const patient = connection.run(increment('hung', { wait: true, deadline: 5000 }));
    own.topology.resume(node);
    // The three that were sent before, and this one; what was refused was never sent.
    expect(await patient).toBe(4);
    expect(connection.stats().breaker.state).toBe('closed');
    const { ping = 0 } = await own.admin.commandCounts();
    expect(ping).toBeGreaterThan(0);
  });

  it('stays closed for refusals, however many', async () => {
    const connection = await open(own.topology.connection, { breaker: { failures: 2 } });
    await own.admin.client.set('text', 'x');
    const wrong = await Promise.all(times(30, () => codeOf(connection.run(increment('text')))));
    expect(new Set(wrong)).toEqual(new Set(['ERR_REDIS_COMMAND']));
    await own.admin.client.call('CONFIG', 'SET', 'maxmemory', '1');
    try {
      const full = await Promise.all(times(30, () => codeOf(connection.run(increment('full')))));
      expect(new Set(full)).toEqual(new Set(['ERR_REDIS_REFUSED']));
    } finally {
      await own.admin.client.call('CONFIG', 'SET', 'maxmemory', '0');
    }
    expect(connection.stats().breaker.state).toBe('closed');
  });

  it('stays closed for callers that are less patient than the connection, and for those that abort', async () => {
    const proxy = await startProxy((await own.topology.primary()) as { host: string; port: number });
    try {
      const options = { commandTimeout: 2000, breaker: { failures: 2 } };
      const connection = await open({ mode: 'standalone', host: proxy.host, port: proxy.port }, options);
      await proxy.set('latency', { ms: 100 });
      const short = await Promise.all(times(10, () => codeOf(connection.run(increment('slow', { deadline: 10 })))));
      expect(new Set(short)).toEqual(new Set(['ERR_REDIS_DEADLINE']));
      const controller = new AbortController();
      const calls = times(10, () => codeOf(connection.run(increment('slow', { signal: controller.signal }))));
      controller.abort();
      expect(new Set(await Promise.all(calls))).toEqual(new Set(['ERR_REDIS_ABORTED']));
      await eventually(() => connection.stats().pool.inFlight === 0);
      expect(connection.stats().breaker.state).toBe('closed');
    } finally {
      await proxy.close();
    }
  });

  it('opens for them as well when the server stays silent for the connection’s own time', async () => {
    const connection = await open(own.topology.connection, { breaker: { failures: 3 } });
    const node = await own.topology.primary();
    own.topology.freeze(node);
    try {
      await Promise.all(times(3, () => codeOf(connection.run(increment('silent', { deadline: 20 })))));
      expect(connection.stats().breaker.state).toBe('closed');
      await eventually(() => expect(connection.stats().breaker.state).toBe('open'));
    } finally {
      own.topology.resume(node);
    }
    await eventually(() => expect(connection.stats().breaker.state).toBe('closed'));
  });

  it('can be switched off', async () => {
    const connection = await open(own.topology.connection, { breaker: false });
    const node = await own.topology.primary();
    own.topology.freeze(node);
    try {
      const codes = await Promise.all(times(20, () => codeOf(connection.run(increment('off')))));
      expect(new Set(codes)).toEqual(new Set(['ERR_REDIS_DEADLINE']));
      expect(await codeOf(connection.run(increment('off')))).toBe('ERR_REDIS_DEADLINE');
      expect(connection.stats().breaker).toEqual({ state: 'off', openNodes: [] });
    } finally {
      own.topology.resume(node);
    }
  });
});

describe('the breaker of a Cluster', () => {
  it('is one for each node: the slots of the others go on', async () => {
    const topology = await startOwn('cluster', { nodeTimeout: 20_000 });
    try {
      const connection = await open(topology.connection, { breaker: { failures: 3, openFor: '50ms' } });
      const [hung, well] = await topology.masters();
      const admin = await RedisAdmin.connect(topology.connection);
      const keyOn = async (port: number): Promise<string> => {
        const slots = (await admin.client.cluster('SLOTS')) as unknown as [number, number, [string, number]][];
        const [from, to] = slots.find(([, , [, at]]) => at === port)!;
        return times(1000, (n) => `key:${n}`).find((key) => slotOf(key) >= from && slotOf(key) <= to)!;
      };
      const [deadKey, liveKey] = [await keyOn(hung!.port), await keyOn(well!.port)];
      admin.close();
      topology.freeze(hung!);
      const codes = await Promise.all(times(3, () => codeOf(connection.run(increment(deadKey)))));
      expect(codes).toEqual(times(3, () => 'ERR_REDIS_DEADLINE'));
      expect(await codeOf(connection.run(increment(deadKey)))).toBe('ERR_REDIS_BREAKER_OPEN');
      expect(connection.stats().breaker.openNodes).toEqual([hung!.address]);
      expect(await Promise.all(times(50, () => codeOf(connection.run(increment(liveKey)))))).not.toContain(
        'ERR_REDIS_DEADLINE',
      );
      topology.resume(hung!);
      await eventually(async () => expect(await codeOf(connection.run(increment(deadKey)))).toBe('ok'));
    } finally {
      await topology.stop();
    }
  });
});

describeOnEachTopology('calls of one turn', (topology) => {
  it('keep their order, their own replies and their own errors', async () => {
    const connection = await open(topology.connection, { commandTimeout: 5000 });
    const key = `{${topology.namespace}}:order`;
    const list = `{${topology.namespace}}:list`;
    const calls = times(100, (n) => [
      connection.run({ name: 'test.set', key, effect: 'idempotent', send: (client) => client.set(key, n) }),
      connection.run({ name: 'test.get', key, effect: 'read', send: (client) => client.get(key) }),
      codeOf(connection.run({ name: 'test.llen', key, effect: 'read', send: (client) => client.llen(key) })),
      connection.run({ name: 'test.rpush', key: list, effect: 'once', send: (client) => client.rpush(list, n) }),
    ]);
    const replies = await Promise.all(calls.map((each) => Promise.all(each)));
    expect(replies).toEqual(times(100, (n) => ['OK', `${n}`, 'ERR_REDIS_COMMAND', n + 1]));
  });
});
