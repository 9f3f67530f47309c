import type { AbstractHttpAdapter } from '@nestjs/core';
import { Logger } from '@nestjs/common';
import { afterAll, beforeAll, beforeEach, expect, it, jest } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { eventually } from '../../support/eventually.js';
import type { SharedTopology } from '../../support/topologies.js';
import { openHttpApp, type Answer, type HttpApp } from './http-app.js';
import { gate } from './test-idempotency.js';

const isReplay = ({ headers }: Answer): boolean => headers.get('idempotent-replayed') === 'true';

/** What is new in each answer, whoever gives it. */
const OF_THE_MOMENT = ['date', 'idempotent-replayed', 'set-cookie'];

/** Status, body and headers. */
function comparable({ status, text, headers }: Answer): unknown {
  return { status, text, headers: [...headers.entries()].filter(([name]) => !OF_THE_MOMENT.includes(name)) };
}

/** What `@Idempotent` promises on handlers, on either framework. */
export function httpSuite(topology: SharedTopology, newAdapter: () => AbstractHttpAdapter): void {
  let app: HttpApp;
  beforeAll(async () => {
    app = await openHttpApp(newAdapter(), topology);
  });
  afterAll(() => app?.app.close());
  beforeEach(() => {
    app.journal.calls = [];
    app.journal.gate = undefined;
  });
  const withKey = (key: string = randomUUID()): Record<string, string> => ({ 'idempotency-key': key });

  it.each(['orders/7', 'users/ada', 'text', 'empty', 'moved'])(
    'answers byte for byte as it did before: %s',
    async (path) => {
      const headers = { ...withKey(), 'x-envelope': 'yes' };
      const first = await app.post(`/shop/${path}`, headers, { a: 1, b: [true] });
      const second = await app.post(`/shop/${path}`, headers, { b: [true], a: 1 });
      expect([isReplay(first), isReplay(second)]).toEqual([false, true]);
      expect(comparable(second)).toEqual(comparable(first));
      expect(app.journal.calls).toHaveLength(1);
      expect(first.status).toBeLessThan(400);
      expect(second.headers.get('set-cookie')).toBeNull();
      if (path === 'orders/7') {
        expect(second.headers.get('x-run')).toBe('1');
        expect(JSON.parse(second.text)).toMatchObject({ data: { id: 7, fence: expect.stringMatching(/^\d{16}$/) } });
      }
      if (path === 'users/ada') expect(second.text).not.toContain('secret');
    },
  );

  it('runs one of 20 equal requests at a time, and refuses the rest with 409 and Retry-After', async () => {
    const { promise, open } = gate();
    app.journal.gate = promise;
    const headers = withKey();
    const answers: Answer[] = [];
    const requests = Array.from({ length: 20 }, async () => void answers.push(await app.post('/shop/text', headers)));
    await eventually(() => answers.length === 19);
    open();
    await Promise.all(requests);
    expect(app.journal.calls).toEqual(['text']);
    for (const refused of answers.slice(0, 19)) {
      expect([refused.status, refused.headers.get('retry-after')]).toEqual([409, '1']);
      expect(refused.headers.get('content-type')).toContain('application/problem+json');
      expect(JSON.parse(refused.text)).toMatchObject({
        title: 'Conflict',
        code: 'ERR_IDEMPOTENCY_BUSY',
        retryAfter: 1,
      });
    }
    expect(answers[19]).toMatchObject({ status: 201, text: 'text 1' });
  });

  it('has others wait for the first where that is wanted, unless their client leaves', async () => {
    const { promise, open } = gate();
    app.journal.gate = promise;
    const headers = withKey();
    const requests = Array.from({ length: 5 }, () => app.post('/shop/wait', headers));
    await eventually(() => app.service.stats().waiting === 4);
    const client = new AbortController();
    const leaving = fetch(`${await app.app.getUrl()}/shop/wait`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: '{}',
      signal: client.signal,
    });
    await eventually(() => app.service.stats().waiting === 5);
    client.abort();
    await expect(leaving).rejects.toThrow();
    await eventually(() => app.service.stats().waiting === 4);
    open();
    const answers = await Promise.all(requests);
    expect(answers.filter(isReplay)).toHaveLength(4);
    expect(new Set(answers.map(({ text }) => text))).toEqual(new Set(['[1]']));
  });

  it('refuses another payload with 422, also while the first runs', async () => {
    const { promise, open } = gate();
    app.journal.gate = promise;
    const headers = withKey();
    const first = app.post('/shop/orders/1', headers, { amount: 1 });
    await eventually(() => app.journal.calls.length === 1);
    expect((await app.post('/shop/orders/1', headers, { amount: 2 })).status).toBe(422);
    open();
    await first;
    for (const [path, body] of [
      ['1', { amount: 2 }],
      ['1?x=1', { amount: 1 }],
      ['2', { amount: 1 }],
    ] as const) {
      const other = await app.post(`/shop/orders/${path}`, headers, body);
      expect([other.status, JSON.parse(other.text)]).toMatchObject([422, { code: 'ERR_IDEMPOTENCY_MISMATCH' }]);
    }
    expect(app.journal.calls).toEqual(['order 1']);
  });

  it('compares what a parser has read, and warns once of a body that none has', async () => {
    const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => {});
    const headers = { ...withKey(), 'content-type': 'text/plain' };
    const answers = [1, 2, 2].map((body) => () => app.post('/shop/text', headers, body));
    const seen = [];
    for (const post of answers) seen.push((await post()).status);
    const warnings = warn.mock.calls.filter(([message]) =>
      String(message).includes('@Idempotent on ShopController.text'),
    );
    warn.mockRestore();
    // Express parses no text by itself.
    const isParsed = app.app.getHttpAdapter().getType() === 'fastify';
    expect(seen).toEqual(isParsed ? [201, 422, 422] : [201, 201, 201]);
    expect(warnings).toHaveLength(isParsed ? 0 : 1);
  });

  it('shares nothing between users, tenants, routes and versions', async () => {
    const headers = withKey('one:key');
    const users: Record<string, string>[] = [
      {},
      { 'x-user': 'ada' },
      { 'x-user': 'bob' },
      { 'x-user': 'anonymous' },
      { 'x-user': 'ada:one' },
    ];
    for (const user of users) expect(isReplay(await app.post('/shop/text', { ...headers, ...user }))).toBe(false);
    for (const user of users) expect(isReplay(await app.post('/shop/text', { ...headers, ...user }))).toBe(true);
    expect(isReplay(await app.post('/shop/empty', headers))).toBe(false);
    expect((await app.post('/shop/versioned', { ...headers, 'x-version': '1' })).text).toBe('["one"]');
    expect((await app.post('/shop/versioned', { ...headers, 'x-version': '2' })).text).toBe('["two"]');
    // Without an id users would share: that is an error, and nothing runs.
    app.journal.calls = [];
    expect((await app.post('/shop/text', { ...headers, 'x-user': 'nobody' })).status).toBe(500);
    expect((await app.post('/shop/optional', { 'x-request-key': 'k' })).status).toBe(500);
    expect(app.journal.calls).toEqual([]);
    for (const [tenant, run] of [
      ['a', '[1]'],
      ['b', '[2]'],
      ['a', '[1]'],
    ] as const) {
      expect((await app.post('/shop/optional', { 'x-request-key': 'k', 'x-tenant': tenant })).text).toBe(run);
    }
  });

  it('leaves the failure of a request without a key to who asked, and to nobody else', async () => {
    const unhandled = jest.fn();
    process.on('unhandledRejection', unhandled);
    try {
      app.journal.gate = Promise.reject(new Error('sold out'));
      expect((await app.post('/shop/optional')).status).toBe(500);
      expect((await app.post('/shop/optional')).status).toBe(500);
      expect(unhandled).not.toHaveBeenCalled();
    } finally {
      process.off('unhandledRejection', unhandled);
    }
  });

  it('needs a key that can be one, unless it is optional', async () => {
    for (const key of [undefined, '', 'k'.repeat(256), 'k\u00e9y']) {
      const refused = await app.post('/shop/text', key === undefined ? {} : withKey(key));
      expect([refused.status, JSON.parse(refused.text)]).toMatchObject([400, { code: 'ERR_IDEMPOTENCY_KEY' }]);
    }
    expect(app.journal.calls).toEqual([]);
    expect([(await app.post('/shop/optional')).text, (await app.post('/shop/optional')).text]).toEqual(['[1]', '[2]']);
    // As the draft writes keys, and as many clients do; and very long ones.
    for (const key of ['8e03978e', 'k'.repeat(255)]) {
      expect(isReplay(await app.post('/shop/text', withKey(key)))).toBe(false);
      expect(isReplay(await app.post('/shop/text', withKey(`"${key}"`)))).toBe(true);
    }
    expect(isReplay(await app.post('/shop/text', withKey('k'.repeat(254))))).toBe(false);
    let deep: unknown = 1;
    for (let level = 0; level < 300; level++) deep = [deep];
    expect((await app.post('/shop/text', withKey(), deep)).status).toBe(400);
  });

  it('runs guards for replays too, and frees the key after what is no success', async () => {
    const headers = withKey();
    await app.post('/shop/text', headers);
    expect((await app.post('/shop/text', { ...headers, 'x-banned': 'yes' })).status).toBe(403);
    const failing = withKey();
    const failures = [await app.post('/shop/fail', failing), await app.post('/shop/fail', failing)];
    expect(failures.map(({ status, text }) => [status, (JSON.parse(text) as { message: string }).message])).toEqual([
      [409, 'failure 2'],
      [409, 'failure 3'],
    ]);
    // A pipe refuses it, before the handler.
    expect((await app.post('/shop/orders/x', failing)).status).toBe(400);
    expect((await app.post('/shop/orders/1', failing)).status).toBe(202);
  });

  it('keeps errors where that is wanted, but none that says to try again', async () => {
    for (const [status, kept] of [
      [409, true],
      [422, true],
      [429, false],
      [500, false],
    ] as const) {
      const headers = { ...withKey(), 'x-status': String(status) };
      const first = await app.post('/shop/fail/kept', headers);
      const second = await app.post('/shop/fail/kept', headers);
      expect([first.status, second.status, isReplay(second)]).toEqual([status, status, kept]);
      if (kept) expect(comparable(second)).toEqual(comparable(first));
    }
  });

  it('keeps the key while a handler runs that an interceptor has given up', async () => {
    const { promise, open } = gate();
    app.journal.gate = promise;
    const headers = withKey();
    const code = async () => (JSON.parse((await app.post('/shop/hasty', headers)).text) as { code?: string }).code;
    expect((await app.post('/shop/hasty', headers)).status).toBe(500);
    expect(await code()).toBe('ERR_IDEMPOTENCY_BUSY');
    open();
    await eventually(async () => expect(await code()).toBe('ERR_IDEMPOTENCY_UNKEPT'));
    expect(app.journal.calls).toEqual(['hasty']);
    expect(app.service.stats()).toEqual({ waiting: 0, running: 0, finishing: 0 });
  });

  it('sends what cannot be kept, and does not do it again unless that is wanted', async () => {
    const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => {});
    for (const [path, sent] of [
      ['big', '{"big":"xx'],
      ['stream', 'a file'],
    ] as const) {
      const headers = withKey();
      const first = await app.post(`/shop/${path}`, headers);
      expect([first.status, first.text.slice(0, 10)]).toEqual([201, sent]);
      const second = await app.post(`/shop/${path}`, headers);
      expect([second.status, JSON.parse(second.text)]).toMatchObject([409, { code: 'ERR_IDEMPOTENCY_UNKEPT' }]);
    }
    const warnings = warn.mock.calls.map(([message]) => /ShopController\.\w+: a result/.exec(String(message))?.[0]);
    warn.mockRestore();
    expect(warnings).toEqual(['ShopController.big: a result', 'ShopController.stream: a result']);
    const headers = withKey();
    const runs = [await app.post('/shop/stream/rerun', headers), await app.post('/shop/stream/rerun', headers)];
    expect(runs.map(({ text }) => text)).toEqual(['run 3', 'run 4']);
    expect(app.service.stats()).toEqual({ waiting: 0, running: 0, finishing: 0 });
  });
}
