import { fileURLToPath } from 'node:url';
import { expect } from '@jest/globals';
import { chromium, type Browser, type BrowserContextOptions, type Locator, type Page } from 'playwright-core';
import { eventually } from '../support/eventually.js';

/** What a step waits for at the longest: the slowest button takes seven seconds on a machine with nothing else to do. */
export const PATIENCE = 30_000;
/** The shop tells of itself once a second. */
const NEXT_LOOK = 15_000;

/** The one that CHROMIUM_BIN names, with a profile that is thrown away. */
export function launchBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: process.env.CHROMIUM_BIN,
    timeout: PATIENCE,
    // For root and in containers; nothing but the demo's own page is opened, and nobody else is asked for anything.
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
}

/** The demo's page in a window of its own. */
export class DashboardPage {
  /** What a developer would see in the console, and requests that leave the shop or fail. */
  readonly problems: string[] = [];

  private constructor(
    readonly page: Page,
    private readonly url: string,
  ) {
    page.setDefaultTimeout(PATIENCE);
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) this.problems.push(`console: ${message.text()}`);
    });
    page.on('pageerror', (error) => this.problems.push(`script: ${String(error)}`));
    page.on('request', (request) => {
      const local = request.url().startsWith(`${this.url}/`) || request.url().startsWith('data:');
      if (!local) this.problems.push(`request to ${request.url()}`);
    });
    page.on('response', (response) => {
      if (response.status() >= 400) this.problems.push(`${response.status()} from ${response.url()}`);
    });
  }

  /** Opens it, and waits until it has figures. */
  static async open(browser: Browser, url: string, options: BrowserContextOptions = {}): Promise<DashboardPage> {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, locale: 'en-GB', ...options });
    await context.addInitScript({ path: fileURLToPath(new URL('./in-page.js', import.meta.url)) });
    const dashboard = new DashboardPage(await context.newPage(), url);
    await dashboard.page.goto(`${url}/`);
    await dashboard.shows('link', 'Live, once a second');
    return dashboard;
  }

  button(name: string): Locator {
    return this.page.getByRole('button', { name, exact: true });
  }

  /** Presses a button, waits until it has done its work, and returns what the page says of it. */
  async press(name: string, how: 'click' | 'Enter' | 'Space' = 'click'): Promise<string> {
    const entries = this.page.getByRole('log').getByRole('listitem');
    const before = await entries.count();
    if (how === 'click') await this.button(name).click();
    else await this.button(name).press(how);
    await eventually(async () => expect(await entries.count()).toBe(before + 1), { timeout: PATIENCE });
    await eventually(async () => (await this.button(name).getAttribute('aria-busy')) === null);
    return entries.first().innerText();
  }

  /** What a figure is now. */
  async figure(name: string): Promise<string> {
    return this.page.locator(`[data-figure="${name}"]`).innerText();
  }

  /** Waits until a figure, or the state of the page (`link`), is as said. */
  async shows(name: string, wanted: string | RegExp): Promise<void> {
    const place = name === 'link' ? this.page.locator('#link') : this.page.locator(`[data-figure="${name}"]`);
    const look = async (): Promise<void> =>
      expect({ [name]: await place.innerText() }).toEqual({ [name]: expect.stringMatching(exactly(wanted)) });
    await eventually(look, { timeout: NEXT_LOOK });
  }

  /** Everything that a place has shown until now, oldest first. */
  async seen(name: string): Promise<readonly string[]> {
    const seen = await this.audit<Record<string, string[]>>('seen');
    return seen[name] ?? [];
  }

  /** What `in-page.js` finds out. */
  audit<Result>(expression: string): Promise<Result> {
    return this.page.evaluate(`audit.${expression}`) as Promise<Result>;
  }

  async close(): Promise<void> {
    await this.page.context().close();
  }
}

function exactly(wanted: string | RegExp): RegExp {
  return typeof wanted === 'string' ? new RegExp(`^${wanted.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}$`) : wanted;
}
