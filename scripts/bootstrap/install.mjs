// @ts-check
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { ExpectedError, ROOT, progress, withHeartbeat } from './log.mjs';
import { runTool } from './processes.mjs';

/**
 * @typedef {{ version?: string, optional?: boolean, devOptional?: boolean, peer?: boolean }} Locked
 * @typedef {{ packages: Record<string, Locked> }} Lockfile
 */

/**
 * Why `npm ci` has to run, if it has to. npm writes what it installed into node_modules at the very end, so an
 * interrupted installation has no such file, and an old one names other versions.
 *
 * @param {string} root
 * @returns {Promise<string | undefined>}
 */
export async function installationProblem(root = ROOT) {
  const wanted = /** @type {Lockfile} */ (JSON.parse(await readFile(path.join(root, 'package-lock.json'), 'utf8')));
  const text = await readFile(path.join(root, 'node_modules/.package-lock.json'), 'utf8').catch(() => undefined);
  if (text === undefined) return 'nothing is installed yet';
  const installed = /** @type {Lockfile} */ (JSON.parse(text));
  for (const [name, { version, optional, devOptional, peer }] of Object.entries(wanted.packages)) {
    if (!name.startsWith('node_modules/')) continue;
    const found = installed.packages[name];
    // Programs for other systems are optional and stay away.
    if (!found && (optional || devOptional || peer)) continue;
    if (found?.version !== version || !found)
      return `${name.slice('node_modules/'.length)} is not what the lock file names`;
  }
  return undefined;
}

/** Runs `npm ci` when the installed packages are not those of the lock file. */
export async function ensureInstalled() {
  const problem = await installationProblem();
  if (!problem) return;
  progress('npm', `${problem}: installing (about a minute the first time)`);
  const args = ['ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error'];
  // The npm that started us, when one did: another one may be on PATH.
  const npm = process.env.npm_execpath;
  const code = await withHeartbeat('npm', 'npm ci', () =>
    npm && /\.[cm]?js$/.test(npm)
      ? runTool(process.execPath, [npm, ...args])
      : runTool(process.platform === 'win32' ? 'npm.cmd' : 'npm', args),
  );
  if (code !== 0) throw new ExpectedError('npm ci failed; its messages stand above.');
}
