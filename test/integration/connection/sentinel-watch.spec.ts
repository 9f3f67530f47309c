import { describe, expect, it } from '@jest/globals';
import { resolveConnectionOptions, type ConnectionOptions } from '../../../libs/redis-patterns/src/connection/index.js';
import { SentinelWatch, sentinelWatch } from '../../../libs/redis-patterns/src/connection/sentinel-watch.js';
import { openEngine } from '../../support/engine.js';
import { eventually } from '../../support/eventually.js';
import { startOwn, startProxy, type FaultProxy, type Topology } from '../../support/topologies.js';

async function withSentinels(test: (topology: Topology, proxies: FaultProxy[]) => Promise<void>): Promise<void> {
  const topology = await startOwn('sentinel');
  const proxies = await Promise.all(topology.sentinels.map((sentinel) => startProxy(sentinel)));
  try {
    await test(topology, proxies);
  } finally {
    await Promise.all(proxies.map((proxy) => proxy.close()));
    await topology.stop();
  }
}

describe('the watch over Sentinels', () => {
  it('tells of another master once, asks the next Sentinel when one is silent, and ends when it is told to', async () => {
    await withSentinels(async (topology) => {
      const { connection } = topology;
      if (connection.mode !== 'sentinel') throw new Error('expected Sentinels');
      const dead = { host: '127.0.0.1', port: 1 };
      const [first, ...others] = topology.sentinels.map(({ host, port }) => ({ host, port }));
      let changes = 0;
      const watch = new SentinelWatch([dead, first!, ...others], connection.name, () => changes++, 50);
      await watch.ready();
      topology.freeze(topology.sentinels[0]!);
      await topology.failover();
      await eventually(() => expect(changes).toBe(1), { timeout: 10_000 });
      topology.resume(topology.sentinels[0]!);
      await watch.ready();
      watch.stop();
      await topology.failover();
      expect(changes).toBe(1);
    });
  });

  it('is not kept where a replica is read', () => {
    const options: ConnectionOptions = {
      mode: 'sentinel',
      sentinels: [{ host: 'h', port: 1 }],
      name: 'main',
      readFrom: 'replica',
    };
    expect(sentinelWatch(resolveConnectionOptions(options, 'the spec', 'connection'), () => {})).toBeUndefined();
  });

  it('finds the new master where the subscriptions to the Sentinels were deaf', async () => {
    await withSentinels(async (topology, proxies) => {
      const { connection: given } = topology;
      if (given.mode !== 'sentinel') throw new Error('expected Sentinels');
      const connection = { ...given, sentinels: proxies.map(({ host, port }) => ({ host, port })) };
      // Else ioredis asks the Sentinels for their own addresses, and goes around the proxies.
      const engine = await openEngine({ connection, namespace: 'watch' }, { ioredis: { updateSentinels: false } });
      try {
        await eventually(() => proxies.every((proxy) => proxy.connections > 0));
        await Promise.all(proxies.map((proxy) => proxy.set('dropDown')));
        const master = await topology.failover();
        for (const proxy of proxies) proxy.mode = 'pass';
        const role = async (): Promise<string> =>
          engine.connection.run({
            name: 'test.where',
            effect: 'read',
            send: async (client) => /^tcp_port:(\d+)/m.exec(await client.info('server'))![1]!,
          });
        await eventually(async () => expect(await role()).toBe(String(master.port)), { timeout: 20_000 });
      } finally {
        await engine.close();
      }
    });
  });
});
