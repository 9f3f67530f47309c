import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { SessionService } from 'nestjs-redis-patterns';
import { eventually } from '../../support/eventually.js';
import { describeOnEachTopology } from '../../support/topologies.js';
import { openSessions, type OpenSessions } from './test-sessions.js';

describeOnEachTopology('rotation of sessions', { user: 'session' }, (topology) => {
  let open: OpenSessions;
  let sessions: SessionService;
  beforeAll(async () => {
    open = await openSessions(topology);
    ({ sessions } = open);
  });
  afterAll(() => open?.close());

  it('of parallel requests gives one new id, and both are valid until the grace is over', async () => {
    const { id, session } = await sessions.create({ n: 1 }, { principal: 'ada' });
    const parallel = await Promise.all(Array.from({ length: 20 }, () => sessions.rotate(id, { grace: 400 })));
    const [winner, ...more] = parallel.filter((one) => one?.rotated);
    expect(more).toEqual([]);
    expect(parallel.filter((one) => one?.rotated === false && one.id === id)).toHaveLength(19);
    const next = winner!.id;
    expect(await Promise.all([sessions.update(id, { n: 2 }), sessions.get(next)])).toEqual([
      expect.objectContaining({ data: { n: 2 } }),
      expect.objectContaining({ handle: session.handle, principal: 'ada' }),
    ]);
    await eventually(async () => expect(await sessions.get(id)).toBeUndefined());
    expect(await sessions.update(id, { n: 3 })).toBeUndefined();
    expect([await sessions.rotate(id), await sessions.destroy(id)]).toEqual([undefined, false]);
    expect((await sessions.get(next))?.data).toEqual({ n: 2 });
    expect((await sessions.listByPrincipal('ada')).map(({ handle }) => handle)).toEqual([session.handle]);
  });

  it('under load loses no request of a client that keeps its cookie', async () => {
    let { id: cookie } = await sessions.create({ hits: 0 });
    const first = cookie;
    let [requests, rotations] = [0, 0];
    const request = async (): Promise<void> => {
      const sent = cookie;
      const session = await sessions.get(sent);
      expect(session).toBeDefined();
      requests++;
      const rotated = await sessions.rotate(sent, { grace: '20s' });
      expect(rotated).toBeDefined();
      // A response that comes late does not bring an old id back: there is none in it.
      if (rotated!.rotated) {
        cookie = rotated!.id;
        rotations++;
      }
    };
    await Promise.all(
      Array.from({ length: 10 }, async () => {
        for (let n = 0; n < 15; n++) await request();
      }),
    );
    expect([requests, rotations]).toEqual([150, 1]);
    const final = (await sessions.rotate(cookie, { grace: 0 }))!.id;
    expect(await Promise.all([sessions.get(first), sessions.get(cookie)])).toEqual([undefined, undefined]);
    expect(await sessions.get(final)).toBeDefined();
  });

  it('at a login leaves no other id valid, not even one in its grace', async () => {
    const { id: planted } = await sessions.create({ cart: [1] });
    // Who planted the id rotates it, so that the victim has one in its grace.
    const stolen = (await sessions.rotate(planted))!.id;
    const login = await sessions.rotate(planted, { principal: 'victim' });
    expect(login).toMatchObject({ rotated: true });
    expect(await Promise.all([sessions.get(planted), sessions.get(stolen), sessions.rotate(stolen)])).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    expect(await sessions.get(login!.id)).toMatchObject({ principal: 'victim', data: { cart: [1] } });
    // As somebody else: the index follows.
    const other = await sessions.rotate(login!.id, { principal: 'other' });
    expect(await sessions.get(login!.id)).toBeUndefined();
    const lists = await Promise.all(['victim', 'other'].map((name) => sessions.listByPrincipal(name)));
    expect(lists.map((list) => list.length)).toEqual([0, 1]);
    expect(await topology.admin.client.zcard(`${topology.namespace}:session-principal:victim`)).toBe(0);
    expect(await sessions.destroyAllOf('victim')).toBe(0);
    expect(await sessions.get(other!.id)).toMatchObject({ principal: 'other' });
  });

  it('of two logins at the same moment leaves one id, and its session in the index', async () => {
    const { id } = await sessions.create({});
    const logins = await Promise.all([1, 2, 3].map(() => sessions.rotate(id, { principal: 'twice' })));
    const winners = logins.filter((one) => one !== undefined);
    expect(winners).toHaveLength(1);
    expect((await sessions.listByPrincipal('twice')).map(({ handle }) => handle)).toEqual([id.split('.')[0]]);
    expect(await sessions.get(winners[0]!.id)).toBeDefined();
  });
});
