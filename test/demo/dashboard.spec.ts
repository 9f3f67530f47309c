import { readFileSync } from 'node:fs';
import type { INestApplication } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { LockService } from 'nestjs-redis-patterns';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Outcome } from '../../apps/demo/src/dashboard/outcome.js';
import type { Snapshot } from '../../apps/demo/src/dashboard/snapshot.js';
import { STOCKTAKING } from '../../apps/demo/src/stocktaking/stocktaking.js';
import { useOwn } from '../support/topologies.js';

const PAGE = new URL('../../apps/demo/src/dashboard/page/', import.meta.url);
const ENVIRONMENT = ['REDIS_PATTERNS_CONNECTION', 'DEMO_THROWAWAY', 'DEMO_FREEZABLE'] as const;

describe('the dashboard of the demo', () => {
  // Its own server, because one button freezes it.
  const own = useOwn('standalone');
  const before = ENVIRONMENT.map((name) => [name, process.env[name]] as const);
  let app: INestApplication;
  let url: string;

  beforeAll(async () => {
    process.env.REDIS_PATTERNS_CONNECTION = JSON.stringify(own.topology.connection);
    process.env.DEMO_THROWAWAY = '1';
    process.env.DEMO_FREEZABLE = '1';
    // The module reads the environment when it is loaded.
    const { AppModule } = await import('../../apps/demo/src/app.module.js');
    // `fetch` keeps connections that it has not used, and the server would wait for those.
    const options = { logger: false, abortOnError: false, forceCloseConnections: true } as const;
    app = await NestFactory.create(AppModule, options);
    await app.listen(0, '127.0.0.1');
    url = await app.getUrl();
  });
  afterAll(async () => {
    await app?.close();
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  });

  async function press(action: string): Promise<Outcome> {
    const response = await fetch(`${url}/dashboard/${action}`, { method: 'POST' });
    const outcome = (await response.json()) as Outcome;
    expect([response.status, outcome]).toEqual([200, expect.objectContaining({ words: expect.any(String) })]);
    return outcome;
  }

  /** Reads events until one is as wanted, and leaves. */
  async function watch(wanted: (snapshot: Snapshot) => boolean): Promise<Snapshot> {
    const leaving = new AbortController();
    const response = await fetch(`${url}/dashboard/events`, { signal: leaving.signal });
    expect(response.headers.get('content-type')).toMatch('text/event-stream');
    let text = '';
    try {
      for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
        text += chunk;
        const blocks = text.split('\n\n');
        text = blocks.pop()!;
        for (const block of blocks) {
          const data = /^data: (.*)$/m.exec(block)?.[1];
          const snapshot = data === undefined ? undefined : (JSON.parse(data) as Snapshot);
          if (snapshot !== undefined && wanted(snapshot)) return snapshot;
        }
      }
    } finally {
      leaving.abort();
    }
    throw new Error('the events ended');
  }

  it('serves the page and its files with their types, under a policy that it keeps', async () => {
    const page = await fetch(`${url}/`);
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(page.headers.get('content-security-policy')).toMatch("default-src 'none'; script-src 'self'");
    const html = await page.text();
    // Neither handlers nor styles in the page, and nothing from elsewhere.
    expect(html).not.toMatch(/\son\w+=|\sstyle=|<style|<script(?![^>]*\ssrc=)|https?:/);
    const files = [...html.matchAll(/(?:src|href)="(\/dashboard\/[^"]+)"/g)].map(([, path]) => path!);
    const types = await Promise.all(files.map(async (path) => (await fetch(url + path)).headers.get('content-type')));
    expect(types).toEqual(['text/css; charset=utf-8', 'text/javascript; charset=utf-8']);
  });

  it('has a place on the page for each figure, and a described button for each experiment', () => {
    const html = readFileSync(new URL('index.html', PAGE), 'utf8');
    const script = readFileSync(new URL('dashboard.js', PAGE), 'utf8');
    const shown = [...script.matchAll(/show\('(\w+)'|(?<=[{\s])(\w+): \(\{/g)].map(([, one, other]) => one ?? other);
    const places = [...html.matchAll(/data-figure="(\w+)"/g)].map(([, figure]) => figure);
    expect(new Set(shown)).toEqual(new Set(places));
    const buttons = [...html.matchAll(/<button\s+type="button"\s+data-action="(\w+)"/g)].map(([, action]) => action!);
    // All but `kill`, which starts the shop's program once more, are pressed below, and all of them in test/browser.
    const known = ['stampede', 'burst', 'workers', 'poison', 'replay', 'kill', 'login', 'logout', 'freeze'];
    expect(buttons).toEqual(known);
    for (const action of buttons) {
      for (const part of ['name', 'about']) expect(html).toMatch(`id="${part}-${action}"`);
    }
    for (const [, id] of script.matchAll(/(?:byId|showMeter)\('([\w-]+)'/g)) expect(html).toMatch(`id="${id}"`);
  });

  it('tells of every part in an event', async () => {
    const snapshot = await watch((each) => Object.values(each).every((part) => part !== null));
    expect(snapshot).toEqual({
      worker: process.pid,
      at: expect.any(String),
      throwaway: true,
      freezable: true,
      connection: expect.objectContaining({ status: 'ready', breaker: { state: 'closed', openNodes: [] } }),
      cache: expect.objectContaining({ hits: 0, loads: 0 }),
      limiter: { limit: 10, remaining: 10, resetAfterMs: 0 },
      lock: { remainingMs: 0, waiting: 0 },
      stream: expect.objectContaining({ pending: 0, retries: 0, deadLetters: 0 }),
      sessions: 0,
      bestSellers: [],
      visits: { views: 0, visitors: 0 },
    });
  });

  it('shows one load for a stampede, and its visitors', async () => {
    // The first one would find nothing in the cache anyway, the second one only because of the eviction.
    await press('stampede');
    const { figures, words } = await press('stampede');
    expect(figures).toEqual({ requests: 50, answered: 50, loads: 1 });
    expect(words).toMatch('50 were answered, and the database was read once');
    const { cache } = await watch(({ visits }) => visits?.views === 100 && visits.visitors === 10);
    expect(cache.loads).toBe(2);
  });

  it('lets ten orders of a burst through, and shows what is left', async () => {
    const { figures } = await press('burst');
    expect(figures).toEqual({ orders: 15, allowed: 10, refused: 5, retryAfter: expect.any(Number) });
    expect(figures.retryAfter).toBeGreaterThan(0);
    const sold = [{ name: 'Teapot', sold: 10 }];
    const { limiter } = await watch(({ bestSellers }) => JSON.stringify(bestSellers) === JSON.stringify(sold));
    expect(limiter).toEqual({ limit: 10, remaining: expect.any(Number), resetAfterMs: expect.any(Number) });
    expect(limiter!.remaining).toBeLessThan(10);
  });

  it('lets one worker count at a time, shows who waits, and makes a dead letter that can be replayed', async () => {
    // Side by side, to be short: they have nothing to do with each other.
    const poisoned = press('poison').then(async ({ figures }) => {
      expect(figures).toEqual({ attempts: 3, deadLetters: 1 });
      await watch(({ stream }) => stream?.deadLetters === 1);
      return (await press('replay')).figures;
    });
    const queue = watch(({ lock }) => lock?.waiting === 1 && lock.owner !== undefined);
    const [workers, replayed] = await Promise.all([press('workers'), poisoned, queue]);
    const { fence, nextFence, ...counts } = workers.figures;
    expect(counts).toEqual({ counted: 1, refused: 1 });
    expect(BigInt(nextFence!)).toBeGreaterThan(BigInt(fence!));
    expect(replayed).toEqual({ replayed: 1, left: 0 });
  });

  it('answers 423 with the time to wait while somebody else has the lock', async () => {
    await app.get(LockService).using(STOCKTAKING, { lease: '30s' }, async () => {
      const refused = await fetch(`${url}/stocktaking`, { method: 'POST' });
      expect([refused.status, refused.headers.get('retry-after')]).toEqual([423, expect.stringMatching(/^[1-9]\d*$/)]);
      expect(await refused.json()).toMatchObject({ statusCode: 423, code: 'ERR_LOCK_TIMEOUT' });
    });
  });

  it('counts sessions, and ends all of them', async () => {
    expect((await press('login')).figures).toEqual({ sessions: 1 });
    expect((await press('login')).figures).toEqual({ sessions: 2 });
    expect((await press('logout')).figures).toEqual({ ended: 2 });
  });

  it('goes on telling while Redis is frozen, and what it did to a worker; elsewhere it freezes and kills nothing', async () => {
    const [{ figures, words }] = await Promise.all([
      press('freeze'),
      watch(({ lock, stream, sessions }) => lock === null && stream === null && sessions === null),
    ]);
    const { afterMs, lost, backAfterMs } = figures;
    // By the clock of the lease alone when this process was too busy to hear in time that Redis does not answer.
    expect(lost).toMatch(/^(unreachable|expired)$/);
    expect([afterMs, backAfterMs]).toEqual([expect.any(Number), expect.any(Number)]);
    expect(words).toMatch(`told after ${afterMs} ms that its lock may be lost (${lost})`);
    process.env.DEMO_FREEZABLE = '0';
    process.env.DEMO_THROWAWAY = '0';
    for (const action of ['freeze', 'kill'])
      expect((await fetch(`${url}/dashboard/${action}`, { method: 'POST' })).status).toBe(403);
    expect(await watch(() => true)).toMatchObject({ freezable: false, throwaway: false });
  });

  it('ends its events when the shop ends', async () => {
    const response = await fetch(`${url}/dashboard/events`);
    // Rejected when the connection is cut before they end.
    await Promise.all([response.text(), app.close()]);
  });
});
