import { afterEach, describe, expect, it } from '@jest/globals';
import { CacheService } from 'nestjs-redis-patterns';
import { eventually } from '../../support/eventually.js';
import { sharedTopology, startOwn, startProxy } from '../../support/topologies.js';
import { TestApps } from './test-apps.js';

const apps = new TestApps();
afterEach(() => apps.close());

describe('the addresses that a Cluster is found by', () => {
  it.each(['wait', 'fail-fast'])(
    'may be one node, whatever node ioredis would ask first (startup %s)',
    async (startup) => {
      const { host, port } = sharedTopology('cluster').nodes[0]!;
      for (let boot = 0; boot < 10; boot++) {
        const app = await apps.boot({ mode: 'cluster', nodes: [{ host, port }], startup });
        expect(await app.get(CacheService).set(`k${boot}`, 'v')).toBe(true);
      }
      expect(apps.troubles()).toEqual([]);
    },
  );

  // A configuration endpoint or a load balancer: the slot map names the nodes and not that address.
  it('may be one that is no node itself', async () => {
    const endpoint = await startProxy(sharedTopology('cluster').nodes[0]!);
    try {
      const { host, port } = endpoint;
      const app = await apps.boot({ mode: 'cluster', nodes: [{ host, port }], startup: 'fail-fast' });
      for (let key = 0; key < 10; key++) expect(await app.get(CacheService).set(`k${key}`, 'v')).toBe(true);
      expect(apps.troubles()).toEqual([]);
    } finally {
      await endpoint.close();
    }
  });

  it('may name a node that hangs', async () => {
    const own = await startOwn('cluster', { nodeTimeout: 60_000 });
    const [frozen, seed] = own.nodes;
    try {
      own.freeze(frozen!);
      const { host, port } = seed!;
      const app = await apps.boot({ mode: 'cluster', nodes: [{ host, port }], startup: 'fail-fast' });
      const outcomes = await Promise.allSettled(
        Array.from({ length: 20 }, (_, n) => app.get(CacheService).set(`k${n}`, 'v')),
      );
      expect(new Set(outcomes.map(({ status }) => status))).toEqual(new Set(['fulfilled', 'rejected']));
    } finally {
      own.resume(frozen!);
      await own.stop();
    }
  });

  it('are not to blame when slots are not served: the boot says so, and goes on when they are', async () => {
    const own = await startOwn('cluster', { replicasPerMaster: 0 });
    const stateIs = (state: string) =>
      eventually(async () => {
        const infos = await Promise.all(own.nodes.map((node) => node.command('CLUSTER', 'INFO')));
        return infos.every((info) => String(info).includes(`cluster_state:${state}`));
      });
    try {
      await Promise.all(own.nodes.map((node) => node.command('CLUSTER', 'DELSLOTS', 0)));
      await stateIs('fail');
      const { error } = await apps.failure({ ...own.connection, startup: 'fail-fast' });
      expect(error).toMatchObject({ code: 'ERR_REDIS_CONNECT' });
      expect(error.message).toContain('cluster_state is fail');
      const app = await apps.boot({ ...own.connection, startup: 'background' });
      await own.nodes[0]!.command('CLUSTER', 'ADDSLOTS', 0);
      await stateIs('ok');
      await eventually(() =>
        app
          .get(CacheService)
          .set('k', 'v')
          .then(() => true),
      );
    } finally {
      await own.stop();
    }
  });
});
