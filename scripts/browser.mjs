// @ts-check
import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { runJest } from './bootstrap/jest.mjs';
import { ExpectedError, ROOT } from './bootstrap/log.mjs';
import { onPath } from './servers/binary.mjs';

/** Milliseconds for all of it; a machine with nothing else to do needs a third. */
const LIMIT = 120_000;
const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const HELP = `npm run test:browser -- [options]
  --screenshot   writes docs/images/dashboard.png, which the README shows
CHROMIUM_BIN names the browser, if it is not ${NAMES.join(', ')} on PATH.`;

/**
 * The browser to test with: CHROMIUM_BIN, or one that is on PATH.
 *
 * @param {NodeJS.ProcessEnv} [env]
 * @returns {Promise<string>}
 */
export async function findBrowser(env = process.env) {
  if (env.CHROMIUM_BIN) {
    const usable = await access(env.CHROMIUM_BIN, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (usable) return path.resolve(env.CHROMIUM_BIN);
    throw new ExpectedError(
      `CHROMIUM_BIN=${env.CHROMIUM_BIN} is no program: let it name Chromium or Chrome, or unset it.`,
    );
  }
  for (const name of NAMES) {
    const found = await onPath(name, env.PATH ?? '');
    if (found) return found;
  }
  throw new ExpectedError(
    [
      `No browser was found: none of ${NAMES.join(', ')} is on PATH. Do one of these and try again:`,
      '  sudo apt-get update && sudo apt-get install chromium   (Debian; elsewhere Chromium or Chrome as usual)',
      '  CHROMIUM_BIN=/path/to/chrome                           a Chromium or Chrome that is already on this machine',
    ].join('\n'),
  );
}

/**
 * @param {string[]} args
 * @returns {{ screenshot: boolean } | undefined} undefined when help was asked for, and given
 */
export function parseBrowserArguments(args) {
  try {
    const options = /** @type {const} */ ({ screenshot: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } });
    const { values } = parseArgs({ args, options });
    if (!values.help) return { screenshot: values.screenshot ?? false };
    process.stdout.write(`${HELP}\n`);
    return undefined;
  } catch (error) {
    throw new ExpectedError(`${error instanceof Error ? error.message : String(error)}\n${HELP}`);
  }
}

/**
 * @param {{ browser: string, screenshot: boolean }} options
 * @returns {Promise<number>} the exit code
 */
export function runBrowserTest({ browser, screenshot }) {
  const env = { ...process.env, CHROMIUM_BIN: browser, BROWSER_SCREENSHOT: screenshot ? '1' : '' };
  return runJest(['--config', path.join(ROOT, 'test/browser/jest.config.js'), '--runInBand'], { env, limit: LIMIT });
}
