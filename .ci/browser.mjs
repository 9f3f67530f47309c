// @ts-check
// Sees to it that there is a browser for `npm run test:browser`: as root on Debian it installs one. What apt-get prints is
// shown only when it fails, and only the end of it.
import { spawnSync } from 'node:child_process';
import { findBrowser } from '../scripts/browser.mjs';

const LINES = 20;

/** @param {string[]} args */
function aptGet(args) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const quiet = ['-qq', '-o', 'Dpkg::Use-Pty=0', '-o', 'DPkg::Lock::Timeout=60'];
  const { status, error, stdout, stderr } = spawnSync('apt-get', [...quiet, ...args], { env, encoding: 'utf8' });
  if (status === 0) return true;
  const output = `${stdout ?? ''}${stderr ?? ''}`.trim().split('\n').slice(-LINES).join('\n');
  console.error(`apt-get ${args.join(' ')} failed${error ? `: ${error.message}` : ` with ${status}:`}\n${output}`);
  return false;
}

/** @returns {Promise<string>} */
async function obtainBrowser() {
  try {
    return await findBrowser();
  } catch (missing) {
    if (process.platform !== 'linux' || process.getuid?.() !== 0 || process.env.CHROMIUM_BIN) throw missing;
    const install = ['install', '-y', '--no-install-recommends', 'chromium'];
    // A machine that has just been made knows no packages yet; one that does need not ask for them again.
    if (!aptGet(install) && aptGet(['update'])) aptGet(install);
    return findBrowser();
  }
}

try {
  console.log(await obtainBrowser());
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
