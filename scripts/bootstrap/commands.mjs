// @ts-check
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { findServer } from '../servers/binary.mjs';
import { startTopology } from '../servers/index.mjs';
import { ensureBuilt } from './build.mjs';
import { ensureInstalled } from './install.mjs';
import { ExpectedError, ROOT, progress } from './log.mjs';
import { ended, onStop, runForeground, startProgram, stopProgram } from './processes.mjs';

/** @type {Record<string, (args: string[]) => Promise<number>>} each returns the exit code */
export const commands = { install, build, test, demo, bench };

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
  const jest = createRequire(pathToFileURL(path.join(ROOT, 'package.json'))).resolve('jest/bin/jest');
  const flags = '--experimental-vm-modules --no-warnings=ExperimentalWarning';
  /** @type {NodeJS.ProcessEnv} */
  const env = { ...process.env, NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} ${flags}`.trim() };
  const reporters = args.some((arg) => arg.startsWith('--reporters') || arg === '--json')
    ? []
    : ['--reporters=default', `--reporters=${path.join(ROOT, 'test/summary-reporter.mjs')}`];
  // Behind the arguments: an option that takes a list swallows the paths that follow it.
  if (reporters.length === 0) return runForeground([jest, ...args], env);
  const summary = env.REDIS_PATTERNS_TEST_SUMMARY ?? path.join(tmpdir(), `redis-patterns-summary-${process.pid}.json`);
  rmSync(summary, { force: true });
  env.REDIS_PATTERNS_TEST_SUMMARY = summary;
  const stopped = new AbortController();
  const verdict = endWhenDone(summary, stopped);
  const code = await runForeground([jest, ...args, ...reporters], env, stopped.signal);
  return verdict() ?? code;
}

/** How long the runner may take to end after its last test, milliseconds. */
const END_LIMIT = 30_000;

/**
 * Ends a test runner that has told its result but does not end by itself; the result stays what it told.
 *
 * @param {string} summary the file that the reporter writes when the last test is done
 * @param {AbortController} stopped
 */
function endWhenDone(summary, stopped) {
  /** @type {number | undefined} */
  let code;
  let writtenAt = Infinity;
  const timer = setInterval(() => {
    if (writtenAt === Infinity && existsSync(summary)) writtenAt = Date.now();
    if (Date.now() - writtenAt < END_LIMIT) return;
    clearInterval(timer);
    code = JSON.parse(readFileSync(summary, 'utf8')).failed === 0 ? 0 : 1;
    progress('test', `all tests are done, but the runner has not ended within ${END_LIMIT / 1000} s: it is killed`);
    stopped.abort();
  }, 500);
  timer.unref();
  return () => {
    clearInterval(timer);
    return code;
  };
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
