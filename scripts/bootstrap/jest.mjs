// @ts-check
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { ROOT } from './log.mjs';
import { runForeground } from './processes.mjs';

/**
 * Runs jest with our summary at the end.
 *
 * @param {readonly string[]} args
 * @param {{ env?: NodeJS.ProcessEnv, limit?: number }} [options] limit: milliseconds after which it is killed
 * @returns {Promise<number>} the exit code
 */
export function runJest(args, { env = process.env, limit } = {}) {
  const jest = createRequire(pathToFileURL(path.join(ROOT, 'package.json'))).resolve('jest/bin/jest');
  const flags = '--experimental-vm-modules --no-warnings=ExperimentalWarning';
  const reporters = args.some((arg) => arg.startsWith('--reporters') || arg === '--json')
    ? []
    : ['--reporters=default', `--reporters=${path.join(ROOT, 'test/summary-reporter.mjs')}`];
  // Behind the arguments: an option that takes a list swallows the paths that follow it.
  const nodeOptions = `${env.NODE_OPTIONS ?? ''} ${flags}`.trim();
  return runForeground([jest, ...args, ...reporters], { ...env, NODE_OPTIONS: nodeOptions }, limit);
}
