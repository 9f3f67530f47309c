// @ts-check
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { findServer } from '../servers/binary.mjs';
import { startTopology } from '../servers/index.mjs';
import { ensureBuilt } from './build.mjs';
import { ensureInstalled } from './install.mjs';
import { runJest } from './jest.mjs';
import { ExpectedError, ROOT, progress } from './log.mjs';
import { ended, onStop, runForeground, startProgram, stopProgram } from './processes.mjs';

/** @type {Record<string, (args: string[]) => Promise<number>>} each returns the exit code */
export const commands = { install, build, test, browser, demo, example, bench };

async function install() {
  await ensureInstalled();
  const { flavour, version, path: file } = await findServer();
  progress('redis', `${flavour} ${version.join('.')} at ${file}`);
  return 0;
}

async function build() {
  await ensureInstalled();
  await ensureBuilt();
  return 0;
}

/** @param {string[]} args for jest */
async function test(args) {
  await ensureInstalled();
  // Here rather than in jest's set-up, where its error would be buried in a stack.
  if (process.env.REDIS_PATTERNS_TOPOLOGIES !== 'none') await findServer();
  // Most specs wait for something most of the time. One at a time where a person looks at a few of them.
  const workers = args.length === 0 ? ['--maxWorkers=2'] : [];
  return runJest([...args, ...workers]);
}

/** @param {string[]} args */
async function browser(args) {
  const { findBrowser, parseBrowserArguments, runBrowserTest } = await import('../browser.mjs');
  // Before the installation, as for the demo.
  const options = parseBrowserArguments(args);
  if (!options) return 0;
  const program = await findBrowser();
  await ensureInstalled();
  await findServer();
  await ensureBuilt();
  return runBrowserTest({ ...options, browser: program });
}

/** @param {string[]} args */
async function demo(args) {
  const { parseDemoArguments, runDemo } = await import('../demo.mjs');
  // Before the installation: a typing error should not cost a minute.
  const options = parseDemoArguments(args);
  if (!options) return 0;
  await ensureInstalled();
  await ensureBuilt();
  return runDemo(options);
}

/** @param {string[]} args the name of one, or none for all */
async function example([wanted]) {
  await ensureInstalled();
  const folder = path.join(ROOT, 'examples');
  const names = (await readdir(folder))
    .filter((file) => file.endsWith('.ts'))
    .map((file) => path.basename(file, '.ts'));
  if (wanted !== undefined && !names.includes(wanted)) {
    throw new ExpectedError(`There is no example '${wanted}': choose one of ${names.join(', ')}.`);
  }
  const given = process.env.REDIS_URL;
  const topology = given ? undefined : await startTopology('standalone');
  try {
    for (const name of wanted === undefined ? names : [wanted]) {
      progress('example', name);
      const program = ['--import', path.join(ROOT, 'scripts/ts-loader.mjs'), path.join(folder, `${name}.ts`)];
      const code = await runForeground(program, { ...process.env, REDIS_URL: given ?? topology?.url });
      if (code !== 0) return code;
    }
    return 0;
  } finally {
    await topology?.stop();
  }
}

/** @param {string[]} args */
async function bench(args) {
  await ensureInstalled();
  await ensureBuilt(['redis-patterns']);
  const given = process.env.BENCH_REDIS_URL;
  const topology = given ? undefined : await startTopology('standalone');
  const url = given ?? topology?.url;
  const program = startProgram(path.join(ROOT, 'bench/main.mjs'), {
    args,
    env: { ...process.env, BENCH_REDIS_URL: url },
  });
  const remove = onStop(() => void stopProgram(program, 3000));
  try {
    return await ended(program);
  } catch (error) {
    throw new ExpectedError(`The benchmark did not start: ${String(error)}`);
  } finally {
    remove();
    await topology?.stop();
  }
}
