// @ts-check
import { mkdtemp, readFile, readdir, rm, stat } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';

const PREFIX = 'redis-patterns-';
const DAY = 86_400_000;

/** A folder for one server: configuration, log, data. */
export function makeFolder() {
  return mkdtemp(path.join(os.tmpdir(), PREFIX));
}

/**
 * Removes the folders that runners killed with SIGKILL left behind: a day old, and their server is gone.
 *
 * @returns {Promise<void>} never rejects; what cannot be removed stays
 */
export async function sweepFolders() {
  const names = await readdir(os.tmpdir()).catch(() => []);
  for (const name of names.filter((each) => each.startsWith(PREFIX))) {
    const dir = path.join(os.tmpdir(), name);
    const made = await stat(path.join(dir, 'server.conf')).catch(() => undefined);
    if (!made || Date.now() - made.mtimeMs < DAY) continue;
    const pid = Number(await readFile(path.join(dir, 'server.pid'), 'utf8').catch(() => '0'));
    if (!isAlive(pid)) await rm(dir, { recursive: true, force: true }).catch(() => {});
  }
}

/** @param {number} pid */
function isAlive(pid) {
  if (!pid) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === 'EPERM';
  }
}
