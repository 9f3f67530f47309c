import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { SessionService } from 'nestjs-redis-patterns';
import { eventually } from '../../support/eventually.js';
import { describeOnEachTopology } from '../../support/topologies.js';
import { openSessions, type OpenSessions } from './test-sessions.js';

describeOnEachTopology('sessions of a principal', { user: 'session' }, (topology) => {
  let open: OpenSessions;
  let sessions: SessionService;
  beforeAll(async () => {
    open = await openSessions(topology);
    ({ sessions } = open);
  });
  afterAll(() => open?.close());

  const indexed = (principal: string): Promise<string[]> =>
    topology.admin.client.zrange(`${topology.namespace}:session-principal:${principal}`, '0', '-1');
  const listed = async (principal: string): Promise<string[]> =>
    (await sessions.listByPrincipal(principal)).map(({ handle }) => handle).toSorted();

  /** Which handles have a record that says whose it is. */
  async function live(principal: string): Promise<string[]> {
    const prefix = `${topology.namespace}:session:`;
    const keys = await topology.admin.keys(`${prefix}*`);
    const owners = await Promise.all(keys.map((key) => topology.admin.client.hget(key, '_u')));
    return keys
      .filter((_, index) => owners[index] === principal)
      .map((key) => key.slice(prefix.length))
      .toSorted();
  }

  it('are listed by handles that nobody can use, and ended by them', async () => {
    const made = [];
    for (const device of ['phone', 'laptop']) made.push(await sessions.create({ device }, { principal: 'a:b{c}' }));
    const list = await sessions.listByPrincipal<{ device: string }>('a:b{c}');
    expect(list.map(({ data }) => data.device).toSorted()).toEqual(['laptop', 'phone']);
    const [phone, laptop] = made;
    for (const { handle } of list) expect(await sessions.get(handle)).toBeUndefined();
    expect(await sessions.destroyHandle(phone!.session.handle)).toBe(true);
    expect(await sessions.destroyHandle(phone!.session.handle)).toBe(false);
    expect([await sessions.get(phone!.id), (await sessions.get(laptop!.id))?.data]).toEqual([
      undefined,
      { device: 'laptop' },
    ]);
    expect(await listed('a:b{c}')).toEqual([laptop!.session.handle]);
  });

  it('that ended by themselves leave the index by a list, or by the next logins', async () => {
    const short = { principal: 'idle', idle: 30 };
    await Promise.all([1, 2, 3, 4, 5].map(() => sessions.create({}, short)));
    await eventually(async () => expect(await live('idle')).toEqual([]));
    expect(await indexed('idle')).toHaveLength(5);
    const { session } = await sessions.create({}, { principal: 'idle' });
    expect((await indexed('idle')).length).toBeLessThanOrEqual(2);
    expect(await listed('idle')).toEqual([session.handle]);
    expect(await indexed('idle')).toEqual([session.handle]);
  });

  it('end from the oldest when there are too many', async () => {
    const few = open.withOptions({ maxPerPrincipal: 3 });
    const ids: string[] = [];
    for (let n = 0; n < 5; n++) {
      const { id } = await few.create({ n }, { principal: 'few' });
      ids.push(id);
    }
    const found = await Promise.all(ids.map((id) => few.get<{ n: number }>(id)));
    expect(found.map((session) => session?.data.n)).toEqual([undefined, undefined, 2, 3, 4]);
    // A guest who logs in is the last, however long ago the session of the guest began.
    const guest = await few.create({});
    await few.create({}, { principal: 'few' });
    const login = await few.rotate(guest.id, { principal: 'few' });
    for (let n = 0; n < 2; n++) await few.create({}, { principal: 'few' });
    expect(await few.get(login!.id)).toBeDefined();
    expect(await listed('few')).toHaveLength(3);
  });

  it('are as many as there may be after logins at the same moment, no fewer and no more', async () => {
    // The machine of the tests is slow at times, and these are many calls at once.
    const two = await Promise.all([1, 2].map(() => openSessions(topology, { commandTimeout: 5000 })));
    try {
      for (const [maxPerPrincipal, logins] of [
        [1, 6],
        [10, 60],
      ] as const) {
        const principal = `crowd of ${logins}`;
        const processes = two.map((each) => each.withOptions({ maxPerPrincipal }));
        const made = await Promise.all(
          Array.from({ length: logins }, (_, n) => processes[n % 2]!.create({ n }, { principal })),
        );
        const found = await Promise.all(made.map(({ id }) => sessions.get(id)));
        const handles = found.flatMap((session) => (session === undefined ? [] : [session.handle])).toSorted();
        expect(handles).toHaveLength(maxPerPrincipal);
        expect([await live(principal), await listed(principal)]).toEqual([handles, handles]);
      }
    } finally {
      await Promise.all(two.map((each) => each.close()));
    }
  });

  it('that are about to begin end with all of them: nothing stays, neither session nor entry', async () => {
    for (let round = 0; round < 5; round++) {
      const before = await sessions.create({}, { principal: 'race' });
      const guest = await sessions.create({});
      const begun = [sessions.create({}, { principal: 'race' }), sessions.rotate(guest.id, { principal: 'race' })];
      const [created, rotated, ended] = await Promise.allSettled([...begun, sessions.destroyAllOf('race')]);
      expect(ended).toMatchObject({ status: 'fulfilled' });
      expect(await sessions.get(before.id)).toBeUndefined();
      // Its entry was there before the end of all, its record after it.
      expect(created).toMatchObject({ status: 'rejected', reason: { code: 'ERR_SESSION_REVOKED', status: 401 } });
      // It asks Redis once before: it may have begun after the end of all.
      if (rotated!.status === 'rejected') expect(rotated).toMatchObject({ reason: { code: 'ERR_SESSION_REVOKED' } });
      expect(await indexed('race')).toEqual(expect.arrayContaining(await live('race')));
      await sessions.destroyAllOf('race');
      expect([await live('race'), await indexed('race')]).toEqual([[], []]);
    }
  });

  it('end everywhere else when one is to stay, also if creations and ends come in any order', async () => {
    const own = await sessions.create({}, { principal: 'me' });
    const storm = Array.from({ length: 60 }, (_, n): Promise<unknown> => {
      if (n % 6 === 5) return sessions.destroyAllOf('me', { except: own.id });
      return sessions
        .create({ n }, { principal: 'me' })
        .then(({ id }) => (n % 3 === 0 ? sessions.destroy(id) : undefined));
    });
    const results = await Promise.allSettled(storm);
    for (const result of results)
      if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'ERR_SESSION_REVOKED' });
    expect(await indexed('me')).toEqual(expect.arrayContaining(await live('me')));
    await sessions.destroyAllOf('me', { except: own.session.handle });
    expect([await live('me'), await listed('me'), await indexed('me')]).toEqual(Array(3).fill([own.session.handle]));
    expect(await sessions.get(own.id)).toBeDefined();
  });
});
