import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import { eventually } from '../../support/eventually.js';
import { loseReply } from '../../support/lose-reply.js';
import type { RedisAdmin } from '../../support/redis-admin.js';
import { connectAdmin, startOwn, startProxy, type FaultProxy, type Topology } from '../../support/topologies.js';
import { openSessions, type OpenSessions } from './test-sessions.js';

describe('sessions and tokens, and a Redis that fails', () => {
  const cleanUps: (() => Promise<unknown> | void)[] = [];
  let topology: Topology;
  let admin: RedisAdmin;
  let proxy: FaultProxy;
  let open: OpenSessions;
  let id: string;
  let token: string;
  beforeEach(async () => {
    topology = await startOwn('standalone', { user: ['session', 'token'] });
    cleanUps.push(() => topology.stop());
    proxy = await startProxy(await topology.primary());
    cleanUps.push(() => proxy.close());
    admin = await connectAdmin(topology);
    cleanUps.push(() => admin.close());
    const { host, port } = proxy;
    const connection = { mode: 'standalone', host, port, ...topology.users?.app } as const;
    open = await openSessions({ connection, namespace: 'shop' }, { commandTimeout: 500 });
    cleanUps.push(() => open.close());
    // The server knows the scripts from here on: what a fault hits is a reply, never NOSCRIPT.
    const { sessions, tokens } = open;
    const guest = (await sessions.create({ n: 0 })).id;
    await sessions.update(guest, { n: 1 });
    id = (await sessions.rotate(guest, { principal: 7 }))!.id;
    await sessions.destroy((await sessions.create({}, { principal: 7 })).id);
    await tokens.consume('reset', await tokens.issue('reset', 1));
    token = await tokens.issue('reset', { n: 1 }, { principal: 7 });
  });
  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp();
  });

  const record = (): string => `shop:session:${id.split('.')[0]}`;

  /** Every call fails by the deadline, and none says that there is nothing. */
  async function expectErrors(): Promise<void> {
    const { sessions, tokens } = open;
    const began = performance.now();
    const unavailable = { code: 'ERR_SESSION_UNAVAILABLE', status: 503, statusCode: 503 };
    const invalid = { code: 'ERR_TOKEN_UNAVAILABLE', status: 503 };
    const calls: [Promise<unknown>, object][] = [
      [sessions.get(id), unavailable],
      [sessions.update(id, { n: 5 }), unavailable],
      [sessions.destroy(id), unavailable],
      [sessions.rotate(id), unavailable],
      [sessions.create({}, { principal: 7 }), unavailable],
      [sessions.listByPrincipal(7), unavailable],
      [tokens.verify('reset', token), invalid],
      [tokens.consume('reset', token), invalid],
      [tokens.revokeAll('reset', 7), invalid],
    ];
    await Promise.all(calls.map(([call, error]) => expect(call).rejects.toMatchObject(error)));
    expect(performance.now() - began).toBeLessThan(3000);
  }

  it('says so by the deadline when it is dead, and finds what was there when it is back', async () => {
    await (admin.client as Redis).save();
    const node = await topology.primary();
    await topology.kill(node);
    await expectErrors();
    await topology.restart(node);
    await eventually(async () => expect(await open.sessions.get(id)).toMatchObject({ data: { n: 1 } }), {
      timeout: 10_000,
    });
    expect(await open.tokens.consume('reset', token)).toEqual({ n: 1 });
  });

  it('says so by the deadline when it hangs, and goes on afterwards', async () => {
    await proxy.set('blackhole');
    await expectErrors();
    await proxy.set('reset');
    await proxy.set('pass');
    await eventually(async () => expect(await open.sessions.listByPrincipal(7)).toBeDefined(), { timeout: 10_000 });
  });

  it('does once what it was asked twice after a lost reply', async () => {
    const { sessions, tokens } = open;
    const lose = <T>(call: () => Promise<T>, applied: () => Promise<boolean>): Promise<T> =>
      loseReply(proxy, call, applied);
    const field = (name: string, key = record()): Promise<string | null> => admin.client.hget(key, name);

    const before = Number(await field('_v'));
    const updated = await lose(
      () => sessions.update(id, { n: 2 }),
      async () => (await field('d:n')) === '2',
    );
    expect(updated).toMatchObject({ version: before + 1, data: { n: 2 } });

    const hash = await field('_h');
    const rotated = await lose(
      () => sessions.rotate(id),
      async () => (await field('_h')) !== hash,
    );
    expect(rotated).toMatchObject({ rotated: true });
    expect(await sessions.get(rotated!.id)).toBeDefined();

    const created = await lose(
      () => sessions.create({ n: 3 }),
      async () => (await admin.keys('shop:session:*')).length === 2,
    );
    expect(await sessions.get(created.id)).toMatchObject({ version: 1, data: { n: 3 } });
    expect(await admin.keys('shop:session:*')).toHaveLength(2);

    const used = async (): Promise<boolean> => {
      const keys = await admin.keys('shop:token:*');
      const users = await Promise.all(keys.map((key) => admin.client.hexists(key, 'u')));
      return users.filter(Boolean).length === 2;
    };
    expect(await lose(() => tokens.consume('reset', token), used)).toEqual({ n: 1 });
    expect(await tokens.consume('reset', token)).toBeUndefined();
  });

  it('reads, ends and consumes when memory is full; only what is new is refused', async () => {
    const { sessions, tokens } = open;
    const { id: other } = await sessions.create({ n: 4 }, { principal: 8 });
    await admin.client.pexpire(record(), 60_000);
    await admin.client.config('SET', 'maxmemory-policy', 'noeviction');
    await admin.client.config('SET', 'maxmemory', '1');
    expect(await sessions.get(id)).toMatchObject({ principal: '7', data: { n: 1 } });
    // It was used, so it lives on.
    expect(await admin.client.pttl(record())).toBeGreaterThan(60_000);
    const refused = { code: 'ERR_SESSION_UNAVAILABLE', outcome: 'refused' };
    await expect(sessions.create({}, { principal: 7 })).rejects.toMatchObject(refused);
    await expect(sessions.update(id, { n: 6 })).rejects.toMatchObject(refused);
    await expect(tokens.issue('reset', 1)).rejects.toMatchObject({ code: 'ERR_TOKEN_UNAVAILABLE', outcome: 'refused' });
    expect(await tokens.verify('reset', token)).toEqual({ n: 1 });
    expect(await tokens.consume('reset', token)).toEqual({ n: 1 });
    expect(await tokens.consume('reset', token)).toBeUndefined();
    expect(await sessions.listByPrincipal(7)).toHaveLength(1);
    expect([await sessions.destroyAllOf(7), await sessions.destroy(other)]).toEqual([1, true]);
    expect(await Promise.all([sessions.get(id), sessions.get(other)])).toEqual([undefined, undefined]);
  });

  it('reads when its disk or its replicas let it take no writes', async () => {
    await admin.client.pexpire(record(), 60_000);
    const { session: ended } = await open.sessions.create({}, { principal: 7 });
    await admin.client.del(`shop:session:${ended.handle}`);
    await admin.client.config('SET', 'min-replicas-to-write', '1');
    await expect(open.sessions.update(id, { n: 6 })).rejects.toMatchObject({ outcome: 'refused' });
    expect(await open.sessions.get(id)).toMatchObject({ data: { n: 1 } });
    expect(await open.sessions.listByPrincipal(7)).toMatchObject([{ data: { n: 1 } }]);
  });
});
