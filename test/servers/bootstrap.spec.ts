import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { installationProblem } from '../../scripts/bootstrap/install.mjs';
import { findBrowser, parseBrowserArguments } from '../../scripts/browser.mjs';
import { parseDemoArguments } from '../../scripts/demo.mjs';
import { wantedModes } from '../global-setup.mjs';

describe('whether npm ci is needed', () => {
  let root: string;
  beforeEach(async () => {
    root = await mkdtemp(path.join(os.tmpdir(), 'bootstrap-'));
    await writeLock('package-lock.json', { '': { version: '1' }, 'node_modules/a': { version: '1.0.0' } });
  });
  afterEach(() => rm(root, { recursive: true, force: true }));

  async function writeLock(file: string, packages: object): Promise<void> {
    await mkdir(path.dirname(path.join(root, file)), { recursive: true });
    await writeFile(path.join(root, file), JSON.stringify({ packages }));
  }
  const installed = (packages: object): Promise<void> => writeLock('node_modules/.package-lock.json', packages);

  it('is, in a fresh clone and after an interrupted installation', async () => {
    expect(await installationProblem(root)).toBe('nothing is installed yet');
    await mkdir(path.join(root, 'node_modules/a'), { recursive: true });
    expect(await installationProblem(root)).toBe('nothing is installed yet');
  });

  it('is not, when the lock file’s versions are installed, whatever else is there', async () => {
    await installed({ 'node_modules/a': { version: '1.0.0' }, 'node_modules/other': { version: '9.0.0' } });
    expect(await installationProblem(root)).toBeUndefined();
  });

  it('is, when a version changed or a package came', async () => {
    await installed({ 'node_modules/a': { version: '0.9.0' } });
    expect(await installationProblem(root)).toBe('a is not what the lock file names');
    await installed({ 'node_modules/b': { version: '1.0.0' } });
    expect(await installationProblem(root)).toBe('a is not what the lock file names');
  });

  it('is not, when only programs for other systems are missing', async () => {
    await writeLock('package-lock.json', {
      'node_modules/a': { version: '1.0.0' },
      'node_modules/a-darwin': { version: '1.0.0', optional: true },
    });
    await installed({ 'node_modules/a': { version: '1.0.0' } });
    expect(await installationProblem(root)).toBeUndefined();
  });
});

describe('the arguments of the demo', () => {
  it('choose a throw-away standalone by default', () => {
    expect(parseDemoArguments([], {})).toEqual({ mode: 'standalone', tour: false, port: undefined, url: undefined });
  });

  it('take the kind of deployment from the URL of a server that runs already', () => {
    const url = 'redis+cluster://127.0.0.1:7000';
    expect(parseDemoArguments(['--tour'], { REDIS_URL: url, PORT: '8080' })).toEqual({
      mode: 'cluster',
      tour: true,
      port: 8080,
      url,
    });
  });

  it.each([
    [['--mode=clutser'], {}, /--mode=clutser is unknown/],
    [['--turo'], {}, /Unknown option '--turo'/],
    [['--port=http'], {}, /port must be a number/],
    [['--mode=sentinel'], { REDIS_URL: 'redis://127.0.0.1' }, /REDIS_URL is for standalone, --mode says sentinel/],
    [[], { REDIS_URL: 'http://127.0.0.1' }, /REDIS_URL must begin with/],
  ])('are refused with a remedy: %j %j', (args, env, message) => {
    expect(() => parseDemoArguments(args, env)).toThrow(message);
  });
});

describe('the browser of the browser test', () => {
  it('is the one of CHROMIUM_BIN, or one on PATH; without any the error says how to get one', async () => {
    expect(await findBrowser({ CHROMIUM_BIN: process.execPath })).toBe(process.execPath);
    await expect(findBrowser({ CHROMIUM_BIN: '/no/where' })).rejects.toThrow('CHROMIUM_BIN=/no/where is no program');
    const folder = await mkdtemp(path.join(os.tmpdir(), 'browser-'));
    try {
      await expect(findBrowser({ PATH: folder })).rejects.toThrow(/apt-get install chromium[^]*CHROMIUM_BIN=/);
      await writeFile(path.join(folder, 'google-chrome'), '', { mode: 0o755 });
      expect(await findBrowser({ PATH: folder })).toBe(path.join(folder, 'google-chrome'));
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  it('makes a picture only when it is asked to', () => {
    expect([parseBrowserArguments([]), parseBrowserArguments(['--screenshot'])]).toEqual([
      { screenshot: false },
      { screenshot: true },
    ]);
    expect(() => parseBrowserArguments(['--picture'])).toThrow(/--picture[^]*CHROMIUM_BIN/);
  });
});

describe('the shared servers of a test run', () => {
  it('are all three unless only specs of the library’s folder are named', () => {
    expect(wantedModes([], {})).toEqual(['standalone', 'sentinel', 'cluster']);
    expect(wantedModes(['test/integration/cache', 'libs/'], {})).toHaveLength(3);
    expect(wantedModes(['libs/redis-patterns/src/core', '/somewhere/libs/redis-patterns'], {})).toEqual([]);
  });

  it('are those of REDIS_PATTERNS_TOPOLOGIES', () => {
    expect(wantedModes([], { REDIS_PATTERNS_TOPOLOGIES: 'none' })).toEqual([]);
    expect(wantedModes(['libs'], { REDIS_PATTERNS_TOPOLOGIES: 'cluster, standalone' })).toEqual([
      'cluster',
      'standalone',
    ]);
    expect(() => wantedModes([], { REDIS_PATTERNS_TOPOLOGIES: 'clutser' })).toThrow(/unknown "clutser"/);
  });
});
