import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { SessionService } from 'nestjs-redis-patterns';
import { eventually } from '../../support/eventually.js';
import { describeOnEachTopology } from '../../support/topologies.js';
import { openSessions, type OpenSessions } from './test-sessions.js';

describeOnEachTopology('sessions', { user: 'session' }, (topology) => {
  let open: OpenSessions;
  let sessions: SessionService;
  beforeAll(async () => {
    open = await openSessions(topology);
    ({ sessions } = open);
  });
  afterAll(() => open?.close());

  const recordOf = (id: string): string => `${topology.namespace}:session:${id.split('.')[0]}`;

  it('keep data by field and exactly, and know nothing of ids that are not theirs', async () => {
    const data = {
      name: 'Ada',
      at: new Date(0),
      cart: new Map([['book', 2]]),
      'odd.näme': null,
      gone: undefined,
      $x: { $: 1 },
    };
    const { id, session } = await sessions.create(data, { principal: 7n, idle: '1m', absolute: '2m' });
    const { gone: _, ...kept } = data;
    expect(session).toMatchObject({ handle: id.split('.')[0], principal: '7', version: 1, data: kept });
    expect(session.expiresAt.getTime() - session.createdAt.getTime()).toBeLessThanOrEqual(60_000);
    expect(session.endsAt.getTime() - session.createdAt.getTime()).toBe(120_000);

    const updated = await sessions.update<Partial<typeof data>>(id, { name: 'Grace', at: undefined }, { ifVersion: 1 });
    expect(updated).toMatchObject({ version: 2, data: { name: 'Grace', cart: data.cart } });
    expect(updated?.data).not.toHaveProperty('at');
    expect((await sessions.get(id))?.data).toEqual(updated?.data);

    const other = (await sessions.create({})).id;
    const mixed = `${id.split('.')[0]}.${other.split('.')[1]}`;
    for (const stranger of [mixed, `${id}x`, id.split('.')[0]!, '', undefined as unknown as string]) {
      expect(await sessions.get(stranger)).toBeUndefined();
      expect(await sessions.update(stranger, { name: 'Eve' })).toBeUndefined();
      expect(await sessions.rotate(stranger)).toBeUndefined();
      expect(await sessions.destroy(stranger)).toBe(false);
    }
    expect([await sessions.destroy(id), await sessions.destroy(id), await sessions.get(id)]).toEqual([
      true,
      false,
      undefined,
    ]);
  });

  it('stay destroyed, whatever is saved, touched or rotated at the same moment', async () => {
    for (let round = 0; round < 15; round++) {
      const { id } = await sessions.create({ n: 0 }, { principal: 'slow' });
      const saves = Array.from({ length: 5 }, (_, n) => sessions.update(id, { n }));
      const all = [
        ...saves,
        sessions.get(id),
        sessions.rotate(id),
        sessions.destroy(id),
        sessions.update(id, { n: 9 }),
      ];
      const ended = (await Promise.all(all)).at(7);
      // A rotation that came first left the old id its grace, so it could still log out.
      expect(ended).toBe(true);
      expect(await topology.admin.client.exists(recordOf(id))).toBe(0);
      expect([await sessions.get(id), await sessions.update(id, { n: 1 })]).toEqual([undefined, undefined]);
    }
    expect(await sessions.listByPrincipal('slow')).toEqual([]);
  });

  it('keep parallel changes of different fields, and let one of several win that want the same version', async () => {
    const { id } = await sessions.create({ of: 'somebody' });
    const names = Array.from({ length: 40 }, (_, n) => `field ${n}`);
    await Promise.all(names.map((name, n) => sessions.update(id, { [name]: n })));
    const session = await sessions.get(id);
    expect(session?.version).toBe(41);
    expect(session?.data).toEqual({ of: 'somebody', ...Object.fromEntries(names.map((name, n) => [name, n])) });
    const tries = await Promise.allSettled(
      names.slice(0, 10).map((winner) => sessions.update(id, { winner }, { ifVersion: 41 })),
    );
    const lost = tries.filter((one) => one.status === 'rejected').map(({ reason }) => reason as unknown);
    expect(lost).toHaveLength(9);
    const nothing = sessions.update(id, {}, { ifVersion: 41 });
    lost.push(await nothing.catch((error: unknown) => error));
    for (const error of lost) expect(error).toMatchObject({ code: 'ERR_SESSION_CONFLICT', status: 409, version: 42 });
  });

  it('are not lengthened beyond their absolute end, and end without use', async () => {
    const { id, session } = await sessions.create({}, { idle: 250, absolute: 900 });
    const { id: unused } = await sessions.create({}, { idle: 250, absolute: '1h' });
    const { client } = topology.admin;
    for (let reads = 0; ; reads++) {
      const end = Number(await client.pexpiretime(recordOf(id)));
      expect(end).toBeLessThanOrEqual(session.endsAt.getTime());
      // Reads that do not count as use.
      await sessions.get(unused, { touch: false });
      if ((await sessions.get(id)) === undefined) break;
      if (reads % 3 === 0) await sessions.update(id, { reads });
      expect(reads).toBeLessThan(20_000);
    }
    const [seconds, micros] = await client.time();
    expect(Number(seconds) * 1000 + Number(micros) / 1000).toBeGreaterThanOrEqual(session.endsAt.getTime());
    expect(await sessions.get(unused, { touch: false })).toBeUndefined();
  });

  it('write nothing for a read as long as nine tenths of the idle time are left', async () => {
    const { id } = await sessions.create({}, { idle: '1h' });
    const ends = async (): Promise<number> => Number(await topology.admin.client.pexpiretime(recordOf(id)));
    const first = await ends();
    await sessions.get(id);
    expect(await ends()).toBe(first);
    await topology.admin.client.pexpire(recordOf(id), 3_000_000);
    await sessions.get(id);
    expect(await ends()).toBeGreaterThanOrEqual(first);
  });

  it('have ids that nobody can guess or read in Redis', async () => {
    const ids = await Promise.all(Array.from({ length: 50 }, () => sessions.create({ a: 1 }, { principal: 'many' })));
    expect(new Set(ids.flatMap(({ id }) => id.split('.'))).size).toBe(100);
    for (const { id } of ids) expect(id).toMatch(/^[\w-]{22}\.[\w-]{43}$/);
    const rotated = await sessions.rotate(ids[0]!.id);
    const secrets = [...ids.map(({ id }) => id), rotated!.id].map((id) => id.split('.')[1]!);
    const content = await everythingIn(topology.namespace);
    expect(content).toContain(ids[0]!.session.handle);
    for (const secret of secrets) expect(content).not.toContain(secret);
  });

  it('refuse what is too large, or cannot be kept, and change nothing', async () => {
    const small = open.withOptions({ maxBytes: '1kb' });
    const large = { code: 'ERR_SESSION_TOO_LARGE' };
    await expect(small.create({ text: 'x'.repeat(1024) })).rejects.toMatchObject(large);
    const { id } = await small.create({ a: 'x'.repeat(600) });
    await expect(small.update(id, { b: 'y'.repeat(600) })).rejects.toMatchObject(large);
    await expect(small.update(id, { b: () => 1 })).rejects.toMatchObject({ code: 'ERR_CODEC' });
    await expect(small.update(id, JSON.parse('{"__proto__":1}') as object)).rejects.toMatchObject({
      code: 'ERR_CODEC',
    });
    expect(await small.get(id)).toMatchObject({ version: 1, data: { a: 'x'.repeat(600) } });
    expect(await small.update(id, { a: 'short', b: 'y'.repeat(600) })).toMatchObject({ version: 2 });
    const invalid = { code: 'ERR_INVALID_OPTIONS' };
    await expect(small.create([] as object)).rejects.toMatchObject(invalid);
    await expect(small.create({}, { principal: '' })).rejects.toMatchObject(invalid);
    await expect(small.create({}, { absolute: '500d' })).rejects.toMatchObject(invalid);
    await expect(small.update(id, {}, { ifVersion: 1.5 })).rejects.toMatchObject(invalid);
    await expect(small.destroyAllOf(7, { except: 'me' })).rejects.toMatchObject(invalid);
    for (const options of [
      { idle: 0 },
      { cookie: { secure: false } },
      { cookie: { domain: 'a.b' } },
      { cookie: { name: 'a b' } },
    ]) {
      expect(() => open.withOptions(options)).toThrow(expect.objectContaining(invalid) as unknown as Error);
    }
  });

  it('leave no key without an end', async () => {
    const keys = await eventually(() => topology.admin.keys(`${topology.namespace}:*`));
    const ends = await Promise.all(keys.map((key) => topology.admin.client.pttl(key)));
    expect(keys.length).toBeGreaterThan(10);
    expect(ends.filter((ms) => ms === -1)).toEqual([]);
  });

  /** All keys and values of a namespace as one text. */
  async function everythingIn(namespace: string): Promise<string> {
    const { admin } = topology;
    const keys = await admin.keys(`${namespace}:*`);
    const values = keys.map(async (key) => {
      const type = await admin.client.type(key);
      if (type === 'hash') return admin.client.hgetall(key);
      return type === 'zset' ? admin.client.zrange(key, '0', '-1') : admin.client.get(key);
    });
    return JSON.stringify([keys, await Promise.all(values)]);
  }
});
