// @ts-check
import { execFile, spawnSync } from 'node:child_process';
import { access, chmod, constants, mkdir, rename, rm, stat } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { firstLine, osRelease, unpackDebianPackage, unpackedBinary } from './debian.mjs';

const run = promisify(execFile);

/** The library's scripts rely on Redis 7 (single-command functions such as EVAL_RO and PEXPIRE options). */
const OLDEST = [7, 0, 0];

/**
 * @typedef {object} ServerBinary
 * @property {string} path the program
 * @property {Record<string, string>} env what it needs in its environment
 * @property {[number, number, number]} version
 * @property {'redis' | 'valkey'} flavour
 * @property {'env' | 'path' | 'cache' | 'debian'} source where it was found
 */

/** No server and no way to get one: the message says what to run. */
export class ServerNotFoundError extends Error {
  /** @override */
  name = 'ServerNotFoundError';
  code = 'ERR_NO_REDIS_SERVER';
}

/**
 * Finds a real server program or obtains one: REDIS_SERVER_BIN, PATH, an earlier run's copy, Debian's package.
 *
 * @param {{ env?: NodeJS.ProcessEnv, platform?: string, progress?: (line: string) => void }} [options]
 * @returns {Promise<ServerBinary>} rejects with ServerNotFoundError
 */
export async function findServer(options = {}) {
  const { env = process.env, platform = process.platform, progress = defaultProgress } = options;
  if (env.REDIS_SERVER_BIN) return explicit(env.REDIS_SERVER_BIN);
  const reasons = [];
  for (const name of ['redis-server', 'valkey-server']) {
    const found = await onPath(name, env.PATH ?? '');
    if (!found) continue;
    const binary = await examine(found, [], 'path').catch((error) => void reasons.push(firstLine(error)));
    if (binary && !tooOld(binary)) return binary;
    if (binary) reasons.push(`${found} is ${binary.version.join('.')}, older than ${OLDEST.join('.')}`);
  }
  if (platform === 'linux') {
    const obtained = await fromCache(env, progress).catch((error) => void reasons.push(firstLine(error)));
    if (obtained) return obtained;
  }
  throw new ServerNotFoundError(await adviceFor(platform, await osRelease(), reasons));
}

/** @param {string} line */
function defaultProgress(line) {
  process.stderr.write(`[redis] ${line}\n`);
}

/** @param {string} file */
async function explicit(file) {
  const binary = await examine(path.resolve(file), [], 'env').catch((error) => {
    throw new ServerNotFoundError(
      `REDIS_SERVER_BIN=${file} does not run: ${firstLine(error)}\nLet it name a redis-server program, or unset it.`,
    );
  });
  if (!tooOld(binary)) return binary;
  throw new ServerNotFoundError(
    `REDIS_SERVER_BIN=${file} is version ${binary.version.join('.')}; ${OLDEST.join('.')} or newer is needed.`,
  );
}

/** @param {ServerBinary} binary */
function tooOld({ version }) {
  const differing = OLDEST.findIndex((part, index) => version[index] !== part);
  return differing >= 0 && Number(version[differing]) < Number(OLDEST[differing]);
}

/**
 * @param {string} name
 * @param {string} searchPath
 */
export async function onPath(name, searchPath) {
  for (const folder of searchPath.split(path.delimiter).filter(Boolean)) {
    const file = path.join(folder, name);
    const usable = await access(file, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (usable) return file;
  }
  return undefined;
}

/**
 * @param {string} file
 * @param {readonly string[]} libraries
 * @param {ServerBinary['source']} source
 * @returns {Promise<ServerBinary>} rejects when the program does not run or is something else
 */
async function examine(file, libraries, source) {
  /** @type {Record<string, string>} */
  const env = {};
  if (libraries.length > 0) env.LD_LIBRARY_PATH = libraries.join(':');
  const { stdout } = await run(file, ['--version'], { env: { ...process.env, ...env }, timeout: 10_000 });
  const match = /^(Redis|Valkey) server v=(\d+)\.(\d+)\.(\d+)/i.exec(stdout);
  if (!match) throw new Error(`${file} --version answered ${JSON.stringify(stdout.slice(0, 60))}`);
  return {
    path: file,
    env,
    version: [Number(match[2]), Number(match[3]), Number(match[4])],
    flavour: match[1]?.toLowerCase() === 'valkey' ? 'valkey' : 'redis',
    source,
  };
}

/**
 * Where obtained servers are kept between runs and checkouts (`npm ci` empties node_modules, so not there).
 *
 * @param {NodeJS.ProcessEnv} [env]
 * @returns {Promise<string>}
 */
export async function cacheFolder(env = process.env) {
  const home = env.HOME || os.homedir();
  const wanted = env.NESTJS_REDIS_PATTERNS_CACHE
    ? path.resolve(env.NESTJS_REDIS_PATTERNS_CACHE)
    : path.join(env.XDG_CACHE_HOME || path.join(home, '.cache'), 'nestjs-redis-patterns');
  try {
    await mkdir(wanted, { recursive: true });
    await access(wanted, constants.W_OK);
    return wanted;
  } catch {
    return temporaryCache();
  }
}

/** A home that cannot be written to (service accounts): a folder in /tmp, used only when it is really ours. */
async function temporaryCache() {
  const uid = os.userInfo().uid;
  const folder = path.join(os.tmpdir(), `nestjs-redis-patterns-${uid}`);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  if ((await stat(folder)).uid !== uid) throw new Error(`${folder} belongs to another user`);
  await chmod(folder, 0o700);
  return folder;
}

/**
 * @param {NodeJS.ProcessEnv} env
 * @param {(line: string) => void} progress
 */
async function fromCache(env, progress) {
  const release = await osRelease();
  const system = `${release.ID ?? 'linux'}${release.VERSION_ID ?? ''}-${process.arch}`;
  const folder = path.join(await cacheFolder(env), `redis-server-${system}`);
  const existed = await access(folder).then(
    () => true,
    () => false,
  );
  const cached = existed && (await examineUnpacked(folder, 'cache').catch(() => undefined));
  if (cached) return cached;
  for (const tool of ['apt-get', 'dpkg-deb']) {
    if (!(await onPath(tool, env.PATH ?? '')))
      throw new Error(`${tool} is not on PATH (not a Debian or Ubuntu system)`);
  }
  // Only what was seen to be broken: another process may be putting a good copy there right now.
  if (existed) await setAside(folder);
  progress(`no redis-server here: unpacking Debian's package into ${folder}`);
  await unpackDebianPackage(folder, progress);
  const binary = await examineUnpacked(folder, 'debian');
  if (tooOld(binary)) throw new Error(`this system's package is ${binary.version.join('.')}, too old`);
  progress(`${binary.flavour} ${binary.version.join('.')} is ready`);
  return binary;
}

/**
 * @param {string} folder
 * @param {ServerBinary['source']} source
 */
async function examineUnpacked(folder, source) {
  const unpacked = await unpackedBinary(folder);
  return examine(unpacked.path, unpacked.libraries, source);
}

/**
 * Removes a copy that does not run. Renamed first, so that a process that just repaired it loses nothing half-way.
 *
 * @param {string} folder
 */
async function setAside(folder) {
  const aside = `${folder}.broken-${process.pid}-${Date.now()}`;
  const moved = await rename(folder, aside).then(
    () => true,
    () => false,
  );
  if (moved) await rm(aside, { recursive: true, force: true });
}

/**
 * @param {string} platform
 * @param {Record<string, string>} release
 * @param {readonly string[]} reasons
 */
export async function adviceFor(platform, release, reasons) {
  return [
    'No Redis server was found and none could be obtained.',
    ...reasons.map((reason) => `  tried: ${reason}`),
    'Do one of these and try again:',
    `  ${installCommand(platform, `${release.ID ?? ''} ${release.ID_LIKE ?? ''}`)}`,
    '  REDIS_SERVER_BIN=/path/to/redis-server            a program that is already on this machine (7.0 or newer)',
    '  docker run --rm -p 6379:6379 redis:7              then, for the demo and the benchmarks:',
    '  REDIS_URL=redis://127.0.0.1:6379 npm run demo     (the tests start and stop servers of their own)',
  ].join('\n');
}

/**
 * @param {string} platform
 * @param {string} family ID and ID_LIKE of /etc/os-release
 */
function installCommand(platform, family) {
  if (platform === 'darwin') return 'brew install redis';
  if (platform === 'win32')
    return 'wsl --install                                     and run this inside the Linux it installs';
  if (/\balpine\b/.test(family)) return 'apk add redis';
  if (/\b(fedora|rhel|centos)\b/.test(family))
    return 'sudo dnf install valkey                           (or: sudo dnf install redis)';
  if (/\barch\b/.test(family)) return 'sudo pacman -S valkey';
  if (/suse/.test(family)) return 'sudo zypper install redis';
  if (/\b(debian|ubuntu)\b/.test(family)) return 'sudo apt-get update && sudo apt-get install redis-server';
  return 'install redis-server or valkey-server with the package manager of this system';
}

/**
 * How children are tied to this process: by the kernel where `setpriv` can ask for it, else by a pipe.
 *
 * @returns {'pdeathsig' | 'pipe'}
 */
export function findTie() {
  if (process.platform !== 'linux') return 'pipe';
  const probe = spawnSync('setpriv', ['--pdeathsig', 'KILL', 'true'], { stdio: 'ignore' });
  return probe.status === 0 ? 'pdeathsig' : 'pipe';
}
