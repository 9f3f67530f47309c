// @ts-check
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

// `redis-tools` carries the whole server: redis-check-rdb is the same program, which looks at the name it is called by.
const PACKAGES = ['redis-tools', 'valkey-tools'];
const PROGRAMS = ['redis-check-rdb', 'valkey-check-rdb'];
// What Debian 12 needs, should the simulated installation give no answer.
const KNOWN_LIBRARIES = ['libjemalloc2', 'liblzf1', 'libatomic1', 'libssl3'];

/** @returns {Promise<Record<string, string>>} the fields of /etc/os-release, empty elsewhere */
export async function osRelease() {
  const text = await readFile('/etc/os-release', 'utf8').catch(() => '');
  const lines = text.matchAll(/^([A-Z_]+)="?([^"\n]*)"?$/gm);
  return Object.fromEntries([...lines].map((line) => [line[1], line[2]]));
}

/** @param {string} root */
export async function unpackedBinary(root) {
  const libraries = [];
  for (const parent of ['usr/lib', 'lib']) {
    const names = await readdir(path.join(root, parent)).catch(() => []);
    libraries.push(...names.filter((name) => name.includes('linux-gnu')).map((name) => path.join(root, parent, name)));
  }
  return { path: path.join(root, 'redis-server'), libraries };
}

/**
 * Unpacks Debian's (or Ubuntu's) own package below `target`: nothing is installed, no daemon starts, no root is needed.
 * apt works on private lists in a temporary folder, so it also runs where the system has none and without its locks.
 *
 * @param {string} target the folder to create; another process may create it at the same time
 * @param {(line: string) => void} progress
 * @returns {Promise<void>} rejects when apt is missing, there is no network or no package
 */
export async function unpackDebianPackage(target, progress) {
  await mkdir(path.dirname(target), { recursive: true });
  const work = await mkdtemp(path.join(path.dirname(target), '.unpacking-'));
  try {
    const apt = await privateApt(path.join(work, 'apt'));
    progress('reading the package lists of this Debian system (private copy, nothing is installed)');
    await run('apt-get', [...apt, 'update'], { env: aptEnv(), timeout: 120_000 }).catch((error) => {
      // One unreachable third-party source must not matter when the main archive answered.
      progress(`apt-get update reported: ${firstLine(error)}`);
    });
    const packages = await packagesToFetch(apt);
    progress(`downloading ${packages.join(', ')}`);
    const debs = path.join(work, 'debs');
    await mkdir(debs);
    await run('apt-get', [...apt, 'download', ...packages], { cwd: debs, env: aptEnv(), timeout: 120_000 });
    const root = path.join(work, 'root');
    await mkdir(root);
    for (const deb of await readdir(debs)) await run('dpkg-deb', ['-x', path.join(debs, deb), root]);
    await linkServer(root);
    await moveInPlace(root, target);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/**
 * @param {string} folder
 * @returns {Promise<string[]>} arguments for apt-get
 */
async function privateApt(folder) {
  const lists = path.join(folder, 'lists', 'partial');
  const archives = path.join(folder, 'cache', 'archives', 'partial');
  await mkdir(lists, { recursive: true });
  await mkdir(archives, { recursive: true });
  const options = {
    'Dir::State::Lists': path.dirname(lists),
    'Dir::Cache': path.join(folder, 'cache'),
    'Debug::NoLocking': '1',
    'APT::Sandbox::User': os.userInfo().username,
    'Acquire::Languages': 'none',
    'Acquire::http::Timeout': '20',
    'Acquire::https::Timeout': '20',
    'Acquire::Retries': '2',
  };
  const lines = Object.entries(options).map(([name, value]) => `${name} ${JSON.stringify(value)};`);
  // Hooks such as docker-clean's would act on the system's folders, which are none of our business.
  lines.push(
    '#clear APT::Update::Pre-Invoke;',
    '#clear APT::Update::Post-Invoke;',
    '#clear APT::Update::Post-Invoke-Success;',
  );
  const file = path.join(folder, 'apt.conf');
  await writeFile(file, lines.join('\n') + '\n');
  return ['-q', '-c', file];
}

function aptEnv() {
  return { ...process.env, LC_ALL: 'C', DEBIAN_FRONTEND: 'noninteractive' };
}

/** @param {readonly string[]} apt */
async function packagesToFetch(apt) {
  for (const name of PACKAGES) {
    const simulated = await run('apt-get', [...apt, '-s', '--no-install-recommends', 'install', name], {
      env: aptEnv(),
    }).catch(() => undefined);
    const found = [...(simulated?.stdout ?? '').matchAll(/^Inst (\S+)/gm)].map((match) => String(match[1]));
    // Already installed tools are not listed, yet the program is still needed; maintainers' helpers (adduser) are not.
    if (simulated) return [name, ...found.filter((each) => each !== name && each.startsWith('lib'))];
  }
  return ['redis-tools', ...KNOWN_LIBRARIES];
}

/** @param {string} root */
async function linkServer(root) {
  const programs = await readdir(path.join(root, 'usr/bin'));
  const program = PROGRAMS.find((name) => programs.includes(name));
  if (!program) throw new Error(`the package holds none of ${PROGRAMS.join(', ')}`);
  await symlink(path.join('usr/bin', program), path.join(root, 'redis-server'));
}

/**
 * A rename is atomic: a reader sees no half-unpacked server, and of two processes the second finds the first's copy.
 *
 * @param {string} root
 * @param {string} target
 */
async function moveInPlace(root, target) {
  try {
    await rename(root, target);
  } catch (error) {
    const code = /** @type {NodeJS.ErrnoException} */ (error).code;
    if (code !== 'ENOTEMPTY' && code !== 'EEXIST') throw error;
  }
}

/** @param {unknown} error */
export function firstLine(error) {
  const text = /** @type {{ stderr?: string }} */ (error)?.stderr || String(error);
  return (
    text
      .trim()
      .split('\n')
      .find((line) => /^(E|W|Err|Error):?/.test(line)) ?? String(text.trim().split('\n')[0])
  );
}
