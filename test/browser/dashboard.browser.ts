import { mkdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { eventually } from '../support/eventually.js';
import { DashboardPage, launchBrowser, PATIENCE } from './dashboard-page.js';
import { DemoProcess } from './demo-process.js';

const PICTURE = fileURLToPath(new URL('../../docs/images/dashboard.png', import.meta.url));
const LARGEST_PICTURE = 300_000;
/** WCAG 2.2, level AA: texts, and what shows the focus. */
const TEXT_CONTRAST = 4.5;
const OUTLINE_CONTRAST = 3;

describe('the dashboard in a browser', () => {
  let demo: DemoProcess;
  let browser: Browser;
  let page: DashboardPage;
  const pressed = new Set<string>();

  beforeAll(async () => {
    const [started, launched] = await Promise.allSettled([DemoProcess.start(), launchBrowser()]);
    if (started.status === 'fulfilled') demo = started.value;
    if (launched.status === 'fulfilled') browser = launched.value;
    for (const { status, reason } of [started, launched] as PromiseRejectedResult[])
      if (status === 'rejected') throw reason;
    page = await DashboardPage.open(browser, demo.url);
  });
  afterAll(async () => {
    await browser?.close();
    await demo?.stop();
  });

  async function press(name: string): Promise<string> {
    pressed.add(name);
    return page.press(name);
  }

  it('comes alive: figures in all places, and Redis is there', async () => {
    await page.shows('status', 'ready');
    await page.shows('breaker', 'closed');
    await page.shows('server', /^Redis \d+\.\d+\.\d+$/);
    await page.shows('mode', 'standalone');
    await page.shows('remaining', '10');
    await page.shows('members', '1');
    for (const figure of ['hits', 'misses', 'loads', 'waiting', 'deadLetters', 'views', 'sessions'])
      await page.shows(figure, '0');
    await page.shows('held', 'free');
  });

  it('Stampede: 50 requests, one load', async () => {
    expect(await press('Stampede')).toMatch(
      'Stampede: 50 requests at once for a product that was just evicted: 50 were answered, and the database was read once.',
    );
    await page.shows('loads', '1');
    await page.shows('lastLoad', /^\d+ ms$/);
    await page.shows('hitRatio', /^\d+ %$/);
    await page.shows('views', '50');
    await page.shows('visitors', '10');
  });

  it('Burst: ten of fifteen orders, and when to come back', async () => {
    expect(await press('Burst')).toMatch(
      /Burst: 15 orders of one client at once: 10 allowed, 5 refused with 429, to come back in [1-9]\d* s\./,
    );
    await page.shows('remaining', /^[0-5]$/);
    await page.shows('resetAfter', /^\d+ s$/);
    await eventually(
      async () => {
        expect(await page.page.locator('#best-sellers li').allInnerTexts()).toEqual([
          expect.stringMatching(/^Teapot\s+10$/),
        ]);
      },
      { timeout: PATIENCE },
    );
  });

  it('Two workers: one counts, one is told, a third comes next with a higher fence', async () => {
    const words = await press('Two workers');
    const [, counted, fence, refused, next] =
      /(\d+) counted \(fence (\d+)\), (\d+) was told at once .* counted next \(fence (\d+)\)/s.exec(words) ?? [];
    expect({ words, counted, refused }).toEqual({ words, counted: '1', refused: '1' });
    expect(BigInt(next!)).toBeGreaterThan(BigInt(fence!));
    expect(await page.seen('held')).toContain('held');
    await page.shows('held', 'free');
  });

  it('Poison message: a dead letter after three attempts, and Replay has it fulfilled', async () => {
    expect(await press('Poison message')).toMatch(
      /an order failed 3 times .*The carrier is on strike.* is a dead letter now/s,
    );
    await page.shows('deadLetters', '1');
    expect(await press('Replay')).toMatch('Replay: 1 dead letter was replayed; 0 left over.');
    await page.shows('deadLetters', '0');
    await page.shows('pending', '0');
  });

  it('Killed consumer: another process finishes its order, and nothing is lost', async () => {
    const words = await press('Killed consumer');
    const [, killed, packedBy, fulfilled, orders] =
      /Process (\d+) was killed .* process (\d+) claimed .* (\d+) of (\d+) orders are fulfilled/s.exec(words) ?? [];
    expect({ words, fulfilled }).toEqual({ words, fulfilled: orders });
    expect(Number(orders)).toBeGreaterThan(0);
    expect(packedBy).not.toBe(killed);
    // It existed, and is gone.
    expect(() => process.kill(Number(killed), 0)).toThrow('ESRCH');
    expect(await page.seen('members')).toContain('2');
    await page.shows('pending', '0');
    await page.shows('lag', '0');
  });

  it('Log in and Log out everywhere: sessions are counted, and all end', async () => {
    expect(await press('Log in')).toMatch('the user dashboard has 1 open session.');
    await page.shows('sessions', '1');
    expect(await press('Log out everywhere')).toMatch('Logged out everywhere: 1 ended at once, on all devices.');
    await page.shows('sessions', '0');
  });

  it('Freeze Redis: the worker is told, and the page says so meanwhile and afterwards', async () => {
    const told =
      /the worker was told after \d+ ms that its lock may be lost \((unreachable|expired)\).* Redis was back after \d+ ms/s;
    // A machine that is busy may take no look at all in that one and a half second.
    for (let times = 1; !(await page.seen('status')).includes('no answer'); times++) {
      if (times > 3) throw new Error('Redis was frozen three times, and the page never said that it does not answer');
      expect(await press('Freeze Redis')).toMatch(told);
    }
    expect(await page.seen('link')).toContain('Redis does not answer');
    await page.shows('status', 'ready');
    await page.shows('link', 'Live, once a second');
  });

  it('has no button that was not pressed', async () => {
    const buttons = page.page.locator('button, [role=button], input, select, summary');
    const names = await buttons.evaluateAll((all) =>
      all.map((each) => each.querySelector('.name')?.textContent ?? each.outerHTML),
    );
    expect(new Set(names)).toEqual(pressed);
  });

  it('can be used by keyboard: every link and button in order, in plain sight, by Enter and Space', async () => {
    const way: { name: string; outline: number; contrast: number }[] = [];
    const [start, ...rest] = ['/docs', '/metrics', '/health', '/redis/doctor'];
    await page.page.locator(`[href="${start}"]`).focus();
    for (;;) {
      await page.page.keyboard.press('Tab');
      const focused = await page.audit<(typeof way)[number] | null>('focused()');
      // Behind the last element the focus leaves the page.
      if (focused === null || focused.name === start) break;
      way.push(focused);
    }
    const actions = ['stampede', 'burst', 'workers', 'poison', 'replay', 'kill', 'login', 'logout', 'freeze'];
    expect(way.map(({ name }) => name)).toEqual([...rest, ...actions, 'log']);
    for (const stop of way) {
      expect(stop).toEqual({ ...stop, outline: expect.any(Number), contrast: expect.any(Number) });
      expect(stop.outline).toBeGreaterThanOrEqual(2);
      expect(stop.contrast).toBeGreaterThanOrEqual(OUTLINE_CONTRAST);
    }
    expect(await page.press('Log in', 'Enter')).toMatch('has 1 open session.');
    expect(await page.press('Log in', 'Space')).toMatch('has 2 open sessions.');
    // The keyboard keeps its place.
    expect(await page.audit('focused()')).toMatchObject({ name: 'login' });
  });

  it('tells a screen reader what each part is, and what happened', async () => {
    const { page: tab } = page;
    const session = await tab.context().newCDPSession(tab);
    const { nodes } = await session.send('Accessibility.getFullAXTree');
    const of = (...roles: string[]): [string, string][] =>
      nodes
        .filter(({ role, ignored }) => !ignored && roles.includes(String(role?.value)))
        .map(({ name, description }) => [String(name?.value ?? ''), String(description?.value ?? '')]);
    expect(of('button')).toHaveLength(pressed.size);
    for (const [name, description] of of('button')) {
      expect(pressed).toContain(name);
      expect(description.length).toBeGreaterThan(10);
    }
    expect(of('heading').map(([name]) => name)).not.toContain('');
    expect(of('meter').map(([name]) => name)).toEqual(['Hit ratio', 'Orders left']);
    expect(of('region').map(([name]) => name)).toEqual([
      'Make something happen',
      'What happened',
      'Cache',
      'Limit of orders',
      'Lock of the stocktaking',
      'Stream of orders',
      'Connection to Redis',
      'Visitors',
      'Best sellers of the week',
    ]);
    const live = nodes.flatMap(({ role, name, properties }) =>
      properties?.some((each) => each.name === 'live' && each.value.value === 'polite')
        ? [[role?.value, name?.value]]
        : [],
    );
    expect(live).toEqual([
      ['status', expect.any(String)],
      ['log', 'What happened'],
    ]);
    expect([await tab.getAttribute('html', 'lang'), await tab.title()]).toEqual(['en', 'Shop: what its Redis does']);
  });

  it.each(['light', 'dark'] as const)('can be read in %s colours, in all its states', async (colorScheme) => {
    const shown = await DashboardPage.open(browser, demo.url, { colorScheme });
    try {
      await failOnce(shown);
      await shown.audit('showEveryTone()');
      const poor = async () =>
        (await shown.audit<{ text: string; ratio: number }[]>('contrasts()')).filter(
          ({ ratio }) => ratio < TEXT_CONTRAST,
        );
      expect(await poor()).toEqual([]);
      await shown.button('Freeze Redis').hover();
      expect(await poor()).toEqual([]);
      const [ground] = await shown.audit<number[]>('ground(document.body)');
      if (colorScheme === 'dark') expect(ground).toBeLessThan(64);
      else expect(ground).toBeGreaterThan(192);
    } finally {
      await shown.close();
    }
  });

  it.each([320, 375, 768, 1280, 1920])('fits a window that is %d pixels wide', async (width) => {
    await page.page.setViewportSize({ width, height: 900 });
    expect(await page.audit<string[]>('overflows()')).toEqual([]);
    expect(await page.page.evaluate<number>('document.scrollingElement.scrollWidth')).toBeLessThanOrEqual(width);
    const boxes = await Promise.all([...pressed].map((name) => page.button(name).boundingBox()));
    for (const box of boxes) expect(Math.min(box!.width, box!.height)).toBeGreaterThanOrEqual(44);
  });

  it('shows that a button works, and stands still for those who want that', async () => {
    const { page: tab } = page;
    const moving = () => tab.evaluate<number>('document.getAnimations().length');
    for (const [reducedMotion, wanted] of [
      ['no-preference', 1],
      ['reduce', 0],
    ] as const) {
      await tab.emulateMedia({ reducedMotion });
      let answer!: () => void;
      const measured = new Promise<void>((resolve) => (answer = resolve));
      await tab.route('**/dashboard/login', async (route) => {
        await measured;
        await route.fulfill({ json: { words: 'measured' } });
      });
      const working = page.press('Log in');
      await eventually(async () => expect(await page.button('Log in').getAttribute('aria-busy')).toBe('true'));
      expect([reducedMotion, await moving()]).toEqual([reducedMotion, wanted]);
      answer();
      await working;
      await tab.unroute('**/dashboard/login');
    }
  });

  it('asked nobody else for anything, and has nothing in its console', () => {
    expect(page.problems).toEqual([]);
  });

  if (process.env.BROWSER_SCREENSHOT)
    it('makes the picture for the README', async () => {
      const fresh = await DashboardPage.open(browser, demo.url, { colorScheme: 'light' });
      await visit(demo.url);
      for (const name of ['Log in', 'Stampede', 'Two workers', 'Killed consumer', 'Freeze Redis', 'Poison message'])
        await fresh.press(name);
      await visit(demo.url);
      await fresh.shows('deadLetters', '1');
      await fresh.shows('hitRatio', /^[6-9]\d %$/);
      await fresh.page.mouse.move(0, 0);
      mkdirSync(path.dirname(PICTURE), { recursive: true });
      await fresh.page.screenshot({ path: PICTURE, fullPage: true });
      expect(statSync(PICTURE).size).toBeLessThan(LARGEST_PICTURE);
      await fresh.close();
    });

  it('says so when the shop is gone, which leaves nothing behind', async () => {
    expect(await demo.stop()).toBe(0);
    expect(demo.output).toMatch('stopped; nothing of it is left running');
    await page.shows('link', 'The shop does not answer; the figures are old');
    expect(await page.press('Burst')).toMatch('Burst failed: the shop does not answer.');
  });
});

/** Has the page show an answer that is an error. */
async function failOnce({ page }: DashboardPage): Promise<void> {
  await page.route('**/dashboard/login', (route) => route.fulfill({ status: 409, json: { message: 'not now' } }));
  await page.getByRole('button', { name: 'Log in', exact: true }).click();
  const entry = page.getByRole('log').getByRole('listitem');
  await eventually(async () =>
    expect(await entry.allInnerTexts()).toEqual([expect.stringMatching('Log in failed: not now')]),
  );
}

/** Visitors who read what is in the cache. */
async function visit(url: string): Promise<void> {
  for (let n = 0; n < 400; n++) {
    const answer = await fetch(`${url}/products/${1 + (n % 2)}`, { headers: { 'x-client': `visitor-${n % 37}` } });
    await answer.arrayBuffer();
  }
}
