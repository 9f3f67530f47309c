import { Controller, Get } from '@nestjs/common';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { RateLimit } from '../../../libs/redis-patterns/src/rate-limit/nest/index.js';
import { eventually } from '../../support/eventually.js';
import { describeOn, startProxy, type FaultProxy } from '../../support/topologies.js';
import { ContextsApp, type Answer } from './contexts-app.js';

const DEADLINE = 150;
/** Two requests through HTTP on a machine that has other things to do. */
const SLACK = 500;

@Controller()
class Handlers {
  @Get('local')
  @RateLimit('local')
  local(): string {
    return 'local';
  }

  @Get('open')
  @RateLimit('open')
  open(): string {
    return 'open';
  }

  @Get('closed')
  @RateLimit(['local', 'closed'])
  closed(): string {
    return 'closed';
  }

  @Get('report')
  @RateLimit('reports')
  report(): string {
    return 'report';
  }
}

describeOn('standalone', 'requests while Redis fails', { user: 'rateLimit' }, (topology) => {
  describe.each(['express', 'fastify'] as const)('on %s', (platform) => {
    let proxy: FaultProxy;
    let app: ContextsApp;
    let namespace: string;
    beforeAll(async () => {
      proxy = await startProxy(topology.nodes[0]!);
      namespace = await topology.newNamespace();
      const { connection } = topology;
      const through = { ...connection, host: proxy.host, port: proxy.port, closeTimeout: 50, breaker: false };
      const limit = { limit: 50, window: '1m' } as const;
      app = await ContextsApp.start({ ...topology, connection: through as never, namespace }, platform, {
        controllers: [Handlers],
        rateLimit: {
          deadline: DEADLINE,
          policies: {
            local: limit,
            open: { ...limit, onStoreError: 'open' },
            closed: { ...limit, onStoreError: 'closed' },
            reports: { algorithm: 'concurrency', limit: 5, lease: '1s', onStoreError: 'closed' },
          },
        },
      });
    });
    afterAll(async () => {
      await app?.close();
      await proxy?.close();
    });
    beforeEach(async () => {
      await proxy.set('pass');
      await eventually(async () => expect((await app.http('local')).headers!.get('ratelimit')).not.toBeNull());
      await eventually(async () => expect((await app.http('report')).passed).toBe(true));
    });

    const timed = async (path: string): Promise<Answer & { ms: number }> => {
      const began = performance.now();
      return { ...(await app.http(path)), ms: performance.now() - began };
    };
    const charged = async (policy: string): Promise<number> => {
      const counts = await topology.admin.client.hvals(`${namespace}:ratelimit:${policy}:{ip:127.0.0.1}`);
      return counts.map(Number).reduce((sum, count) => sum + count, 0);
    };

    it.each([
      ['is dead', 'refuse'],
      ['hangs', 'blackhole'],
      ['loses its replies', 'dropDown'],
    ] as const)('when Redis %s they are decided by the deadline: admitted, or 503', async (_name, mode) => {
      const before = await charged('open');
      await proxy.set(mode);
      const answers = await Promise.all(['local', 'open', 'closed', 'report'].map(timed));
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 503, 503]);
      expect(answers.map(({ headers }) => headers!.get('retry-after'))).toEqual([null, null, '1', '1']);
      expect(answers.map(({ headers }) => headers!.get('ratelimit'))).toEqual(Array(4).fill(null));
      expect(answers[2]!.body).toMatchObject({ title: 'Service Unavailable', retryAfter: 1 });
      for (const { ms } of answers) expect(ms).toBeLessThan(DEADLINE + SLACK);
      await proxy.set('pass');
      await eventually(async () => expect((await app.http('local')).headers!.get('ratelimit')).not.toBeNull());
      // What hung arrives late; nothing is sent twice.
      const most = mode === 'refuse' ? 0 : 1;
      expect((await charged('open')) - before).toBeLessThanOrEqual(most);
      // A lease that nobody was told of ends by itself.
      await eventually(async () => expect(await topology.admin.keys(`${namespace}:ratelimit:reports:*`)).toEqual([]));
    });
  });
});
