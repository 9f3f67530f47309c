import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { startProgram, type Program } from '../../support/child-process.js';
import { eventually } from '../../support/eventually.js';
import type { RedisAdmin } from '../../support/redis-admin.js';
import {
  connectAdmin,
  startOwn,
  startProxy,
  uniqueNamespace,
  type FaultProxy,
  type Topology,
} from '../../support/topologies.js';
import { Flood, openPubSub, type TestPubSub } from '../../integration/pubsub/test-pubsub.js';
import { inspect, WELL } from './check.js';
import { openPair, type Pair } from './pair.js';

describe('pub/sub on a server that fails', () => {
  let server: Topology;
  let proxy: FaultProxy;
  let pair: Pair | undefined;
  let admin: RedisAdmin;

  beforeEach(async () => {
    server = await startOwn('standalone', { persistence: 'aof' });
    proxy = await startProxy(server.nodes[0]!);
    admin = await connectAdmin(server);
  });
  afterEach(async () => {
    await pair?.close();
    pair = undefined;
    admin.close();
    await proxy.close();
    await server.stop();
  });

  function expectWell({ plain, kept, plainFlood, keptFlood }: Pair): void {
    expect(inspect(plain.events, plainFlood.answered)).toEqual(WELL);
    expect(inspect(kept.events, keptFlood.answered)).toEqual(WELL);
    expect(keptFlood.answered.filter((n) => !kept.events.includes(n))).toEqual([]);
    expect(kept.reasons).toEqual([]);
  }

  it('invariant 12: tells of one gap, or loses nothing, when Redis is killed and comes back with its data', async () => {
    pair = await openPair({ connection: server.connection, namespace: uniqueNamespace() });
    const primary = await server.primary();
    await pair.hearsAgain();
    await server.kill(primary);
    await server.restart(primary);
    await pair.hearsAgain();
    await pair.settle();
    expectWell(pair);
    expect(pair.plain.reasons).toEqual(['disconnected']);
  });

  it.each(['halfOpen', 'blackhole', 'dropDown', 'CLIENT PAUSE'] as const)(
    'invariant 12: the same for a subscriber that hears nothing for a while: %s',
    async (fault) => {
      pair = await openPair({
        connection: { mode: 'standalone', host: proxy.host, port: proxy.port },
        publisherConnection: server.connection,
        namespace: uniqueNamespace(),
        connectionOptions: { pingInterval: '100ms', commandTimeout: '300ms' },
      });
      await pair.hearsAgain();
      if (fault === 'CLIENT PAUSE') await admin.client.call('CLIENT', 'PAUSE', '200', 'ALL');
      else {
        const { bytesLost } = proxy;
        const { tried } = pair.plainFlood;
        await proxy.set(fault);
        // Messages, that is, and not only the answers to what asks whether the server is alive.
        const lost = (): boolean => fault !== 'dropDown' || proxy.bytesLost > bytesLost + 1000;
        await eventually(() => pair!.plainFlood.tried > tried + 50 && lost());
        await proxy.set('pass');
      }
      await pair.hearsAgain();
      await pair.settle();
      expectWell(pair);
      if (fault === 'halfOpen' || fault === 'dropDown') expect(pair.plain.reasons).toEqual(['disconnected']);
    },
  );
});

describe('a process that listens', () => {
  let server: Topology;
  let publisher: TestPubSub;
  let listener: Program;

  afterEach(async () => {
    await listener.kill();
    await publisher.close();
    await server.stop();
  });

  it('invariant 12: hears everything or one gap after it stood still for so long that Redis cut it off', async () => {
    const config = { 'client-output-buffer-limit': 'pubsub 32kb 32kb 1', 'repl-backlog-size': '1mb' };
    server = await startOwn('standalone', { config });
    const namespace = uniqueNamespace();
    listener = startProgram(new URL('./programs/listener.ts', import.meta.url), {
      data: { connection: server.connection, namespace },
    });
    await listener.next('ready');
    const options = { channels: { kept: { delivery: 'reliable' as const } } };
    publisher = await openPubSub(server.connection, namespace, options);
    const admin = await connectAdmin(server);
    try {
      const report = async (count: number): Promise<{ plain: unknown[]; kept: unknown[] }> => {
        listener.send({ type: 'report' });
        return (await listener.next('report', { count })) as unknown as { plain: unknown[]; kept: unknown[] };
      };
      const plain = new Flood((n) => publisher.pubsub.publish('plain', n));
      const kept = new Flood((n) => publisher.pubsub.publish('kept', n));
      await eventually(() => plain.answered.length > 20 && kept.answered.length > 20);
      await listener.kill('SIGSTOP');
      const filler = 'x'.repeat(100_000);
      await eventually(
        async () => {
          // Fills the sockets' buffers, of the system and of Redis.
          await admin.client.publish(`${namespace}:pubsub:plain`, `"${filler}"`);
          expect(await admin.client.call('CLIENT', 'LIST')).not.toMatch(
            new RegExp(`name=${namespace}:default:subscriber.* cmd=subscribe`),
          );
        },
        { timeout: 15_000, interval: 1 },
      );
      await listener.kill('SIGCONT');
      await plain.stop();
      await kept.stop();
      let count = 0;
      await publisher.pubsub.publish('plain', plain.tried + 1);
      await eventually(
        async () => {
          await publisher.pubsub.publish('plain', ++plain.tried + 1);
          const heard = await report(++count);
          expect(heard.kept).toEqual(kept.answered);
          const numbers = heard.plain.filter((event) => typeof event === 'number' || String(event).startsWith('gap'));
          expect(numbers.filter((event) => typeof event !== 'number')).toEqual(['gap: disconnected']);
          expect(typeof numbers.at(-1)).toBe('number');
          expect(inspect(numbers, plain.answered)).toEqual(WELL);
        },
        { timeout: 15_000, interval: 100 },
      );
    } finally {
      admin.close();
    }
  });
});
