import { Injectable } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import {
  Cacheable,
  defineCache,
  DoctorService,
  LockService,
  RedisPatternsModule,
  WithLock,
} from 'nestjs-redis-patterns';
import { eventually } from '../../support/eventually.js';
import { describeOnEachTopology } from '../../support/topologies.js';
import { CALM } from './healthy-server.js';

const users = defineCache<[id: number], string>({ resource: 'user', key: (id) => id, ttl: '10m' });

@Injectable()
class Users {
  @Cacheable(users)
  async byId(id: number): Promise<string> {
    return `user ${id}`;
  }

  @WithLock({ key: 'stock' })
  async take(): Promise<void> {}
}

describeOnEachTopology('the doctor of an application', (topology) => {
  it('names the methods that keep keys, judges clients, and ends with the application', async () => {
    const { connection, namespace, admin } = topology;
    const doctor = { skip: ['SEC004'], duty: 1, latencyGuard: '10s' } as const;
    const module = RedisPatternsModule.forRoot({ namespace, connection, doctor });
    const app = await Test.createTestingModule({ imports: [module], providers: [Users] }).compile();
    await app.init();
    const raw = new Redis({ lazyConnect: true });
    try {
      for (let id = 0; id < 5; id++) await app.get(Users).byId(id);
      const forgotten = `${namespace}:cache:user:99`;
      await admin.client.set(forgotten, 'no TTL');
      const service = app.get(DoctorService);
      const report = await service.examine({ ...CALM, clients: { legacy: raw } });
      const scope = { prefix: `${namespace}:cache:user:*`, owner: '@Cacheable Users.byId' };
      expect(report.findings).toContainEqual(expect.objectContaining({ id: 'TTL002', scope }));
      expect(report.findings).toContainEqual(
        expect.objectContaining({ id: 'CON007', scope: { connection: 'legacy' } }),
      );
      expect(report.passed).toContain('CON009');
      expect(report.target.mode).toBe(topology.mode);

      const locks = app.get(LockService);
      for (let run = 0; run < 8; run++) await locks.using('report', { lease: '1m' }, () => run);
      const impatient = { LCK001: { atLeast: 0, times: 0, share: 1 } };
      const held = await locks.using('report', { lease: '1m' }, () =>
        service.examine({ ...CALM, only: ['LCK001'], rules: impatient }),
      );
      expect(held.findings).toEqual([
        expect.objectContaining({
          id: 'LCK001',
          scope: { owner: 'LockService.using' },
          evidence: expect.stringMatching(/^a lock is held for \d+ ms; those before it for \d+ ms in the middle$/),
        }),
      ]);
      const later = await service.examine({ ...CALM, only: ['LCK001'], rules: impatient });
      expect([later.findings, later.passed]).toEqual([[], ['LCK001']]);

      await expect(service.examine({ only: ['TTL02'] })).rejects.toMatchObject({
        code: 'ERR_INVALID_OPTIONS',
        message: expect.stringContaining("did you mean 'TTL002'?"),
      });
      const running = service.examine({ ...CALM, window: '20s' });
      const ending = expect(running).rejects.toThrow('the doctor was closed');
      await app.close();
      await ending;
      const sockets = async () => (await Promise.all(admin.masters().map((master) => master.client('LIST')))).join();
      await eventually(async () => expect(await sockets()).not.toContain(`${namespace}:default:doctor`));
    } finally {
      raw.disconnect();
      await app.close();
    }
  });
});
