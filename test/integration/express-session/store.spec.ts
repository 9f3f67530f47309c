import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { SessionData } from 'express-session';
import { RedisSessionStore } from '../../../libs/redis-patterns/src/express-session/index.js';
import { ForeignSessions, newSessionId } from '../../../libs/redis-patterns/src/session/index.js';
import { resolveSessionOptions } from '../../../libs/redis-patterns/src/session/session.options.js';
import { eventually } from '../../support/eventually.js';
import { describeOnEachTopology } from '../../support/topologies.js';
import { openSessions, type OpenSessions } from '../session/test-sessions.js';

type Stored = SessionData & Record<string, unknown>;

/** The store with promises. */
class Calls {
  constructor(readonly store: RedisSessionStore) {}

  get = (sid: string): Promise<Stored | null | undefined> =>
    this.#promise((done) => this.store.get(sid, done as never));
  set = (sid: string, data: object): Promise<void> =>
    this.#promise((done) => this.store.set(sid, data as Stored, done as never));
  touch = (sid: string, data: object): Promise<void> =>
    this.#promise((done) => this.store.touch(sid, data as Stored, done as never));
  destroy = (sid: string): Promise<void> => this.#promise((done) => this.store.destroy(sid, done as never));
  clear = (): Promise<void> => this.#promise((done) => this.store.clear(done as never));
  length = (): Promise<number> => this.#promise((done) => this.store.length(done as never));
  all = (): Promise<unknown> => this.#promise((done) => this.store.all(done as never));

  #promise<T>(call: (done: (error: Error | null, value: T) => void) => void): Promise<T> {
    return new Promise((resolve, reject) => call((error, value) => (error ? reject(error) : resolve(value))));
  }
}

describeOnEachTopology('the store for express-session', { user: 'session' }, (topology) => {
  let open: OpenSessions;
  let calls: Calls;
  beforeAll(async () => {
    open = await openSessions(topology);
    const options = resolveSessionOptions({}, 'the spec');
    const principal = (session: Stored): string | undefined => session.userId as string | undefined;
    calls = new Calls(new RedisSessionStore(new ForeignSessions(open.engine.context, options), { principal }));
  });
  afterAll(() => open?.close());

  const keys = (): Promise<string[]> => topology.admin.keys(`${topology.namespace}:session:*`);
  const session = (data: object = {}, originalMaxAge: number | null = null): object => ({
    cookie: {
      originalMaxAge,
      path: '/',
      httpOnly: true,
      expires: originalMaxAge && new Date(Date.now() + originalMaxAge),
    },
    ...data,
  });

  it('keeps sessions by any id, which is not in Redis, and derives the end of the cookie', async () => {
    for (const sid of ['s1:with {odd} characters', newSessionId()]) {
      await calls.set(
        sid,
        session({ user: { name: 'Ada', at: new Date(0) }, n: 1, flat: new Error('x'), f: () => 1 }, 60_000),
      );
      const found = await calls.get(sid);
      expect(found).toMatchObject({
        user: { name: 'Ada', at: new Date(0) },
        n: 1,
        flat: {},
        cookie: { originalMaxAge: 60_000 },
      });
      expect(found).not.toHaveProperty('f');
      const left = found!.cookie.expires!.getTime() - Date.now();
      expect(left).toBeGreaterThan(30_000);
      expect(left).toBeLessThanOrEqual(60_000);
      await calls.set(sid, session({ n: 2 }));
      expect(await calls.get(sid)).toEqual({
        cookie: { originalMaxAge: null, path: '/', httpOnly: true, expires: null },
        n: 2,
        __known: expect.anything(),
      });
    }
    expect(JSON.stringify(await keys())).not.toContain('odd');
    expect(JSON.stringify(await calls.get('s1:with {odd} characters'))).not.toContain('known');
    expect(await calls.get('never seen')).toBeNull();
  });

  it('leaves a session ended that a slow request still saves or touches', async () => {
    for (const save of ['loaded', 'stored'] as const) {
      const sid = `slow ${save}`;
      const stored = session({ n: 1 });
      await calls.set(sid, stored);
      const slow = save === 'loaded' ? (await calls.get(sid))! : stored;
      await calls.destroy(sid);
      await calls.set(sid, Object.assign(slow, { n: 2 }));
      await calls.touch(sid, slow);
      expect(await calls.get(sid)).toBeNull();
    }
    const [one, two] = [session({ n: 1 }), session({ n: 1 })];
    await calls.set('parallel', one);
    const slow = (await calls.get('parallel'))!;
    await Promise.all([
      calls.set('parallel', { ...slow, n: 2 }),
      calls.destroy('parallel'),
      calls.set('parallel', Object.assign(one, { n: 3 })),
    ]);
    expect(await calls.get('parallel')).toBeNull();
    // A request that makes a new one with the same id, as after a regeneration, is no slow one.
    await calls.set('parallel', two);
    expect(await calls.get('parallel')).toMatchObject({ n: 1 });
  });

  it('keeps what parallel requests change in different fields', async () => {
    await calls.set('both', session({ a: 1, b: 1, c: 1 }));
    const [one, two, three] = await Promise.all([1, 2, 3].map(() => calls.get('both')));
    delete three!.c;
    await Promise.all([
      calls.set('both', Object.assign(one!, { a: 2 })),
      calls.set('both', Object.assign(two!, { b: 2 })),
      calls.set('both', three!),
    ]);
    const found = await calls.get('both');
    expect(found).toMatchObject({ a: 2, b: 2 });
    expect(found).not.toHaveProperty('c');
    // Twice in one request: the second is compared with the first.
    await calls.set('both', Object.assign(one!, { a: 1 }));
    expect(await calls.get('both')).toMatchObject({ a: 1, b: 2 });
  });

  it('lives as long as its cookie since the last touch, and not beyond the absolute end', async () => {
    const before = await keys();
    const data = session({}, 400);
    await calls.set('short', data);
    const key = (await keys()).find((one) => !before.includes(one))!;
    expect(await topology.admin.client.pttl(key)).toBeLessThanOrEqual(400);
    await calls.touch('short', session({}, 50_000));
    expect(await topology.admin.client.pttl(key)).toBeGreaterThan(30_000);
    await calls.touch('short', session({}, 90 * 86_400_000));
    expect(await topology.admin.client.pttl(key)).toBeLessThanOrEqual(86_400_000);
    await calls.touch('short', session({}, 30));
    await eventually(async () => expect(await calls.get('short')).toBeNull());
  });

  it('tells SessionService whose sessions there are', async () => {
    await calls.set('of ada', session({ n: 1 }));
    const login = (await calls.get('of ada'))!;
    await calls.set('of ada', Object.assign(login, { userId: 'ada' }));
    await calls.set('another', session({ userId: 'ada' }));
    const list = await open.sessions.listByPrincipal('ada');
    expect(new Set(list.map(({ data }) => data.n))).toEqual(new Set([1, undefined]));
    await calls.set('of ada', Object.assign(login, { userId: 'grace' }));
    expect(await open.sessions.destroyAllOf('ada')).toBe(1);
    expect([await calls.get('another'), (await calls.get('of ada'))?.userId]).toEqual([null, 'grace']);
    // As a text all objects would be one principal.
    const object = calls.set('of an object', session({ userId: { name: 'ada' } }));
    await expect(object).rejects.toThrow('principal: must name somebody');
    await calls.destroy('of ada');
    expect(await open.sessions.listByPrincipal('grace')).toEqual([]);
  });

  it('counts and clears on every master, and refuses to list everything', async () => {
    await Promise.all(Array.from({ length: 30 }, (_, n) => calls.set(`many ${n}`, session({ n }))));
    expect(await calls.length()).toBe((await keys()).length);
    await expect(calls.all()).rejects.toMatchObject({ code: 'ERR_SESSION_ALL' });
    await calls.clear();
    expect([await calls.length(), await keys()]).toEqual([0, []]);
  });
});
