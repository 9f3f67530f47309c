import { Logger } from '@nestjs/common';
import type { AbstractHttpAdapter } from '@nestjs/core';
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { CacheService, type CacheOptions } from '../../../libs/redis-patterns/src/cache/index.js';
import { eventually } from '../../support/eventually.js';
import { startOwn, uniqueNamespace, type SharedTopology } from '../../support/topologies.js';
import { Envelope, openResponseApp, type Answer, type ResponseApp, type ResponseAppOptions } from './response-app.js';

const TIMEOUT = 150;
const SLACK = 1_000;
/** So that a busy machine makes no misses. */
const PATIENT: CacheOptions = { operationTimeout: '5s' };

/** What cached responses promise, on either framework. */
export function responseSuite(topology: SharedTopology, newAdapter: () => AbstractHttpAdapter): void {
  const { namespace } = topology;
  const open = async (options: ResponseAppOptions): Promise<ResponseApp> => {
    await topology.admin.deleteKeys(`${namespace}:*`);
    return openResponseApp(newAdapter(), topology, options);
  };

  async function withApp(options: ResponseAppOptions, test: (app: ResponseApp) => Promise<void>): Promise<void> {
    const app = await open(options);
    try {
      await test(app);
    } finally {
      await app.close();
    }
  }

  describe('in one application', () => {
    let app: ResponseApp;
    beforeAll(async () => {
      app = await open({ cache: PATIENT });
    });
    afterAll(() => app?.close());
    beforeEach(async () => {
      await topology.admin.deleteKeys(`${namespace}:*`);
      app.journal.calls.length = 0;
      app.journal.gate = undefined;
    });

    const get = (path: string, headers?: Record<string, string>): Promise<Answer> => app.fetch(path, headers);

    it('never gives one user the response of another one', async () => {
      const users = ['ada', 'bob', 'a:b', 'a', 'public', 's=a', '0', 'zero'];
      const requests = Array.from({ length: 64 }, (_, index) => users[index % users.length]!);
      for (let round = 0; round < 2; round++) {
        const answers = await Promise.all(requests.map((user) => get('/shop/mine', { 'x-user': user })));
        answers.forEach(({ body }, index) => {
          const user = requests[index] === 'zero' ? '0' : requests[index];
          expect(String((body as { user: unknown }).user)).toBe(user);
        });
      }
      // One run each: '0' and 0 are the same text.
      expect(app.journal.calls.toSorted()).toEqual(
        ['0', 'a', 'a:b', 'ada', 'bob', 'public', 's=a'].map((user) => `mine ${user}`),
      );
      expect((await get('/shop/mine', { 'x-user': 'zero' })).cache).toBe('HIT');
    });

    it('does not cache a request without scope', async () => {
      for (let run = 1; run <= 2; run++) {
        expect(await get('/shop/mine')).toMatchObject({ body: { user: 'nobody', run }, cache: 'BYPASS' });
      }
      expect(await topology.admin.keys(`${namespace}:*`)).toEqual([]);
    });

    it('does not share public responses with authenticated requests, and says so once', async () => {
      const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => {});
      try {
        const requests = [{ authorization: 'Bearer x' }, { 'x-user': 'ada' }, {}, { 'x-user': 'bob' }, {}];
        const answers: Answer[] = [];
        for (const headers of requests) answers.push(await get('/shop/products/1', headers as Record<string, string>));
        expect(answers.map(({ cache }) => cache)).toEqual(['BYPASS', 'BYPASS', 'MISS', 'BYPASS', 'HIT']);
        const said = warn.mock.calls.filter(([message]) => String(message).includes('ShopController.product'));
        expect(said).toHaveLength(1);
      } finally {
        warn.mockRestore();
      }
      expect(await get('/shop/shared', { authorization: 'Bearer x' })).toMatchObject({ cache: 'MISS' });
      expect(await get('/shop/shared', { 'x-user': 'ada' })).toMatchObject({ cache: 'HIT', body: { run: 5 } });
    });

    it('does not cache what a scope function gives that is no scope', async () => {
      expect((await get('/shop/odd-scope')).cache).toBe('BYPASS');
      expect((await get('/shop/odd-scope')).body).toEqual({ run: 2 });
    });

    it('tells responses apart by declared parameters alone, in any order', async () => {
      const first = await get('/shop/products/1?page=2&sort=name&utm=a');
      expect(first).toMatchObject({ cache: 'MISS', body: { id: '1', query: { page: '2', sort: 'name' } } });
      for (const same of ['?sort=name&page=2', '?utm=b&page=2&sort=name', '?page=2&sort=name&__proto__=1']) {
        const answer = await get(`/shop/products/1${same}`);
        expect([answer.cache, answer.body]).toEqual(['HIT', first.body]);
      }
      for (const other of [
        '1?page=2',
        '1?page=2&page=2&sort=name',
        '1?page=&sort=name',
        '1?page=2%26sort%3Dname',
        '1?page=2%3Aq.sort%3Dname',
        '1%3Aq.page=2?sort=name',
        '2?page=2&sort=name',
      ]) {
        expect([other, (await get(`/shop/products/${other}`)).cache]).toEqual([other, 'MISS']);
      }
      expect((await get('/shop/products/1?page=2&sort=name', { 'accept-language': 'de' })).cache).toBe('MISS');
      expect((await get('/shop/products/1?page=2&sort=name', { 'accept-language': 'de' })).cache).toBe('HIT');
    });

    it('keeps undeclared query parameters out of what others see', async () => {
      const evil = await get('/shop/products/1?page=1&evil=1');
      expect(evil).toMatchObject({ cache: 'MISS', body: { query: { page: '1' }, all: { page: '1' } } });
      expect((await get('/shop/products/1?page=1')).text).not.toContain('evil');
    });

    it('runs the guards on hits', async () => {
      await get('/shop/products/1');
      expect((await get('/shop/products/1')).cache).toBe('HIT');
      expect((await get('/shop/products/1', { 'x-banned': 'yes' })).status).toBe(403);
    });

    it('runs the handler once for 50 requests at a time', async () => {
      const answers = await Promise.all(Array.from({ length: 50 }, () => get('/shop/products/9')));
      expect(app.journal.calls).toEqual(['product 9']);
      expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
      expect(answers.filter(({ cache }) => cache === 'MISS')).toHaveLength(1);
      expect(new Set(answers.map(({ headers }) => headers.get('etag'))).size).toBe(1);
    });

    it('shares errors with those who wait, and stores none', async () => {
      let open = (): void => {};
      app.journal.gate = new Promise((resolve) => (open = resolve));
      const waiting = Array.from({ length: 5 }, () => get('/shop/missing'));
      await eventually(() => app.journal.calls.length >= 1);
      open();
      for (const answer of await Promise.all(waiting)) expect(answer).toMatchObject({ status: 404, cache: null });
      app.journal.calls.length = 0;
      expect((await get('/shop/missing')).status).toBe(404);
      expect(app.journal.calls).toEqual(['missing']);
      expect(await topology.admin.keys(`${namespace}:*`)).toEqual([]);
    });

    it.each(['teapot', 'partial', 'cookie', 'private', 'no-store', 'vary', 'stream'])(
      'neither stores nor shares an answer that is for one client: %s',
      async (kind) => {
        let open = (): void => {};
        app.journal.gate = new Promise((resolve) => (open = resolve));
        const waiting = Array.from({ length: 4 }, () => get(`/shop/reply/${kind}`));
        await eventually(() => app.journal.calls.length >= 1);
        open();
        const texts = (await Promise.all(waiting)).map(({ text, headers }) => text + headers.get('set-cookie'));
        expect(app.journal.calls).toHaveLength(4);
        // What each got says which run it was, unless all four had begun before one ended.
        expect(texts.every((text) => text.includes(kind))).toBe(true);
        expect((await get(`/shop/reply/${kind}`)).cache).toBe('MISS');
        expect(app.journal.calls).toHaveLength(5);
        expect(await topology.admin.keys(`${namespace}:cache:*`)).toEqual([]);
      },
    );

    it('does not ask the cache where decorators say that the answer is private', async () => {
      expect((await get('/shop/always-private')).cache).toBe('BYPASS');
      expect((await get('/shop/always-private')).body).toEqual({ run: 2 });
    });

    it('gives hits the status and the headers that the handler has set', async () => {
      for (const cache of ['MISS', 'HIT']) {
        const answer = await get('/shop/reply/created');
        expect(answer).toMatchObject({ cache, status: 201, text: 'a;b' });
        expect(answer.headers.get('x-total')).toBe('7');
        expect(answer.headers.get('x-static')).toBe('yes');
        expect(answer.headers.get('content-type')).toBe('text/csv; charset=utf-8');
      }
      expect((await get('/shop/reply/other')).status).toBe(202);
      expect((await get('/shop/reply/other')).status).toBe(202);
    });

    it('stores values of all kinds, and an empty answer as long as negativeTtl says', async () => {
      for (const value of ['text', 7, false, '', [1], { a: 1 }, null, undefined]) {
        await topology.admin.deleteKeys(`${namespace}:*`);
        app.journal.answer = value;
        const first = await get('/shop/value');
        const second = await get('/shop/value');
        expect([value, first.cache, second.cache, second.text]).toEqual([value, 'MISS', 'HIT', first.text]);
        expect(second.headers.get('content-type')).toBe(first.headers.get('content-type'));
      }
      await get('/shop/nothing');
      expect((await get('/shop/nothing')).cache).toBe('MISS');
    });

    it('says how old a hit is', async () => {
      expect((await get('/shop/products/1')).headers.get('age')).toBeNull();
      expect((await get('/shop/products/1')).headers.get('age')).toBe('0');
      await eventually(async () => expect((await get('/shop/products/1')).headers.get('age')).toBe('1'));
    });

    it('answers If-None-Match with 304 as long as the value is the same', async () => {
      app.journal.answer = { version: 1 };
      const etag = (await get('/shop/value')).headers.get('etag')!;
      expect(etag).toMatch(/^"[\w-]+"$/);
      for (const list of [etag, `W/${etag}`, `"x", ${etag}`, '*', `W/"a,b",W/${etag}`]) {
        const answer = await get('/shop/value', { 'if-none-match': list });
        expect([list, answer.status, answer.text, answer.cache]).toEqual([list, 304, '', 'HIT']);
        expect(answer.headers.get('etag')).toBe(etag);
      }
      for (const list of ['"x"', etag.slice(1, -1), '']) {
        expect([list, (await get('/shop/value', { 'if-none-match': list })).status]).toEqual([list, 200]);
      }
      await topology.admin.deleteKeys(`${namespace}:*`);
      expect(await get('/shop/value', { 'if-none-match': etag })).toMatchObject({ status: 304, cache: 'MISS' });
      await topology.admin.deleteKeys(`${namespace}:*`);
      app.journal.answer = { version: 2 };
      expect(await get('/shop/value', { 'if-none-match': etag })).toMatchObject({ status: 200, body: { version: 2 } });
    });

    it('answers HEAD from what GET has stored, and stores nothing for it', async () => {
      const head = (headers = {}) => app.fetch('/shop/products/3', headers, { method: 'HEAD' });
      expect(await head()).toMatchObject({ status: 200, cache: 'MISS', text: '' });
      const made = await get('/shop/products/3');
      expect(made).toMatchObject({ cache: 'MISS', body: { id: '3' } });
      const hit = await head();
      expect(hit).toMatchObject({ status: 200, cache: 'HIT', text: '' });
      expect(hit.headers.get('etag')).toBe(made.headers.get('etag'));
      expect((await head({ 'if-none-match': '*' })).status).toBe(304);
      expect(app.journal.calls).toHaveLength(2);
    });

    it('shows interceptors above it the same on a miss and a hit, and makes no tag of what they may change', async () => {
      Envelope.seen.length = 0;
      const first = await get('/wrapped?other=1');
      const second = await get('/wrapped');
      const third = await get('/wrapped', { 'if-none-match': '*' });
      expect(first.body).toEqual({ data: { a: 1 }, query: { other: '1' } });
      expect([second.body, third.status]).toEqual([{ data: { a: 1 }, query: {} }, 200]);
      expect(Envelope.seen).toEqual([{ a: 1 }, { a: 1 }, { a: 1 }]);
    });

    it('forgets responses whose tags are invalidated, and no others', async () => {
      const cache = app.app.get(CacheService);
      const states = async (): Promise<(string | null)[]> => [
        (await get('/shop/tagged/1')).cache,
        (await get('/shop/tagged/2')).cache,
      ];
      expect(await states()).toEqual(['MISS', 'MISS']);
      expect(await states()).toEqual(['HIT', 'HIT']);
      await cache.invalidateTags(['product 1']);
      expect(await states()).toEqual(['MISS', 'HIT']);
      await cache.invalidateTags(['products']);
      expect(await states()).toEqual(['MISS', 'MISS']);
    });

    it('answers with a stale copy at once, refreshes it behind, and keeps it when that fails', async () => {
      app.journal.answer = 'well';
      await get('/shop/stale?page=1&other=1');
      const stale = await eventually(async () => {
        const answer = await get('/shop/stale?page=1&other=2');
        expect(answer.cache).toBe('STALE');
        return answer;
      });
      const { run } = stale.body as { run: number };
      expect(stale.body).toEqual({ query: { page: '1' }, run });
      const refreshed = await eventually(async () => {
        const answer = await get('/shop/stale?page=1&other=3');
        expect((answer.body as { run: number }).run).toBeGreaterThan(run);
        return answer;
      });
      expect((refreshed.body as { query: object }).query).toEqual({ page: '1' });
      expect(refreshed.headers.get('etag')).not.toBe(stale.headers.get('etag'));
      app.journal.answer = new Error('no database');
      const { length } = app.journal.calls;
      await eventually(async () => {
        expect((await get('/shop/stale?page=1')).status).toBe(200);
        expect(app.journal.calls.length).toBeGreaterThan(length + 1);
      });
    });

    it('uses readable keys, each with a time to live', async () => {
      await get('/shop/products/1?page=2', { 'accept-language': 'de' });
      const keys = await topology.admin.keys(`${namespace}:*`);
      expect(keys).toEqual([
        `${namespace}:cache:http:ShopController.product:/shop/products/%3Aid:public:p.id=1:q.page=2:q.sort=%v:h.accept-language=de`,
      ]);
      expect(await topology.admin.client.pttl(keys[0]!)).toBeGreaterThan(0);
    });
  });

  describe.each([
    ['the controller', '/serialized', false],
    ['the application', '/shop', true],
  ])('with a serializer of %s', (_, path, serializeAll) => {
    it('hides on a hit what it hides on a miss', async () => {
      await withApp({ serializeAll, cache: PATIENT }, async (app) => {
        for (const cache of ['MISS', 'HIT', 'HIT']) {
          expect(await app.fetch(`${path}/plain`)).toMatchObject({ cache, text: '{"name":"Ada"}' });
        }
        expect(app.journal.calls).toEqual(['plain']);
      });
    });

    it('does not store instances that would come back without their class', async () => {
      const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => {});
      try {
        await withApp({ serializeAll, cache: PATIENT }, async (app) => {
          for (let run = 0; run < 3; run++) {
            expect(await app.fetch(`${path}/class`)).toMatchObject({ cache: 'MISS', text: '{"name":"Ada"}' });
          }
          expect(app.journal.calls).toHaveLength(3);
        });
        const said = warn.mock.calls
          .map(([message]) => String(message))
          .filter((text) => text.includes('@CacheResponse'));
        expect(said).toEqual([
          expect.stringMatching(
            /@CacheResponse on \w+\.aClass: an answer to GET \/\w+\/class .* value: .* User; list its class/,
          ),
        ]);
      } finally {
        warn.mockRestore();
      }
    });
  });

  describe('while Redis is frozen', () => {
    it('answers within operationTimeout', async () => {
      const own = await startOwn('standalone');
      const [server] = own.nodes;
      const options = { connection: { closeTimeout: 50, commandTimeout: '10s' } };
      const app = await openResponseApp(
        newAdapter(),
        { connection: own.connection, namespace: uniqueNamespace() },
        options,
      );
      try {
        await app.fetch('/shop/products/1');
        own.freeze(server!);
        const startedAt = performance.now();
        const answers = await Promise.all(Array.from({ length: 20 }, () => app.fetch('/shop/products/1')));
        expect(performance.now() - startedAt).toBeLessThan(TIMEOUT + SLACK);
        expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
        expect(answers[0]!.status).toBe(200);
      } finally {
        own.resume(server!);
        await app.close();
        await own.stop();
      }
    });
  });
}
