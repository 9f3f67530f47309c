import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../../support/eventually.js';
import { describeOn, describeOnEachTopology, startProxy } from '../../support/topologies.js';
import { FRAMEWORKS, ReplayApp } from './replay-app.js';

describeOnEachTopology('rate limits of repeated requests', { user: ['idempotency', 'rateLimit'] }, (topology) => {
  let clients = 0;
  describe.each(FRAMEWORKS)('on %s', (framework) => {
    let app: ReplayApp;
    beforeAll(async () => {
      app = await ReplayApp.open(framework, topology);
    });
    afterAll(() => app?.close());
    const newClient = (): string => `${framework}${++clients}`;
    const LIMITS = ['fixed', 'sliding', 'log', 'bucket'] as const;

    it('costs what has run, and nothing for replays, by every algorithm and across slots', async () => {
      const client = newClient();
      const takenOfAll = (): Promise<number[]> =>
        Promise.all([
          ...LIMITS.map((policy) => app.taken(policy, client)),
          app.taken('shop', client, { ofShop: true }),
        ]);
      const answers = [];
      for (let call = 1; call <= 10; call++) {
        answers.push(await app.post('order', client, 'one'));
        // It is given back beside the answer.
        await eventually(async () => expect(await takenOfAll()).toEqual([1, 1, 1, 1, 3]));
      }
      expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(201));
      expect(answers.map(({ isReplay }) => isReplay)).toEqual([false, ...Array<boolean>(9).fill(true)]);
      expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
      expect(await app.post('order', client, 'two')).toMatchObject({ status: 201, isReplay: false });
      expect(await takenOfAll()).toEqual([2, 2, 2, 2, 6]);
      // Limits come first: a replay needs room for its charge as well.
      for (const key of ['three', 'one']) expect((await app.post('order', client, key)).status).toBe(429);
      expect(await takenOfAll()).toEqual([2, 2, 2, 2, 6]);
    });

    it('gives each charge back once, however many come at the same time', async () => {
      const client = newClient();
      await app.post('note', client, 'other');
      await app.post('note', client, 'same');
      for (let round = 1; round <= 2; round++) {
        const replays = await Promise.all(Array.from({ length: 18 }, () => app.post('note', client, 'same')));
        expect(replays.filter(({ status, isReplay }) => status === 201 && isReplay)).toHaveLength(18);
        await eventually(async () => expect(await app.taken('shop', client)).toBe(2));
      }
    });

    it('keeps the charge of requests that are refused', async () => {
      const client = newClient();
      const running = app.post('note', client, 'slow', { 'x-slow': 'yes' });
      await eventually(() => expect(app.gate.waiting).toHaveLength(1));
      expect((await app.post('note', client, 'slow', { 'x-slow': 'yes' })).status).toBe(409);
      expect((await app.post('note', client, 'slow', { body: '{"other":1}' })).status).toBe(422);
      expect((await app.post('note', client, '')).status).toBe(400);
      app.gate.open();
      expect((await running).status).toBe(201);
      expect(await app.post('note', client, 'slow')).toMatchObject({ status: 201, isReplay: true });
      await eventually(async () => expect(await app.taken('shop', client)).toBe(4));
    });

    it('releases the lease of a replay, and no other one', async () => {
      const client = newClient();
      expect((await app.post('export', client, 'done')).text).toBe('exported');
      const running = app.post('export', client, 'slow', { 'x-slow': 'yes' });
      await eventually(() => expect(app.gate.waiting).toHaveLength(1));
      await eventually(async () => expect(await app.taken('exports', client)).toBe(1));
      for (let call = 1; call <= 4; call++) {
        expect(await app.post('export', client, 'done')).toMatchObject({ status: 201, isReplay: true });
        await eventually(async () => {
          expect([await app.taken('exports', client), await app.taken('shop', client)]).toEqual([1, 2]);
        });
      }
      app.gate.open();
      expect((await running).status).toBe(201);
      await eventually(async () => expect(await app.taken('exports', client)).toBe(0));
      expect(await app.taken('shop', client)).toBe(2);
    });

    it("gives back once what 'countWhen' would give back too, and the charge of a failure that is replayed", async () => {
      const client = newClient();
      const login = (key: string, password: string) => app.post('login', client, key, { 'x-password': password });
      const expectTaken = (logins: number, shop: number): Promise<void> =>
        eventually(async () => {
          const taken = [await app.taken('login', client), await app.taken('shop', client, { ofShop: true })];
          expect(taken).toEqual([logins, shop]);
        });
      expect((await login('a', 'wrong')).status).toBe(401);
      expect((await login('b', 'wrong')).status).toBe(401);
      await expectTaken(2, 2);
      expect((await login('c', 'right')).status).toBe(201);
      await expectTaken(2, 3);
      for (let call = 1; call <= 3; call++) {
        expect(await login('c', 'right')).toMatchObject({ status: 201, isReplay: true });
        expect(await login('a', 'wrong')).toMatchObject({ status: 401, isReplay: true });
        await expectTaken(2, 3);
      }
    });
  });
});

describeOn('standalone', 'a replay whose charge cannot be given back', (topology) => {
  it.each(FRAMEWORKS)('is answered at once all the same, on %s', async (framework) => {
    const proxy = await startProxy(topology.nodes[0]!);
    const limits = {
      ...topology.connection,
      host: proxy.host,
      port: proxy.port,
      closeTimeout: 50,
      commandTimeout: 5000,
    };
    const app = await ReplayApp.open(framework, { ...topology, limits });
    try {
      const client = `${framework} without limits`;
      const first = await app.post('order', client, 'key');
      // What hung arrives later; what was cut is lost, or sent when the connection is back.
      for (const [fault, taken] of [
        ['blackhole', [1]],
        ['refuse', [1, 2]],
      ] as const) {
        app.between.hook = () => proxy.set(fault);
        const began = performance.now();
        expect(await app.post('order', client, 'key')).toEqual({ ...first, isReplay: true });
        expect(performance.now() - began).toBeLessThan(2500);
        app.between.hook = undefined;
        await proxy.set('pass');
        await eventually(async () => expect(taken).toContain(await app.taken('fixed', client)));
      }
    } finally {
      await app.close();
      await proxy.close();
    }
  });
});
