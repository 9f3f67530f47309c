import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';

const STARTUP_TIME = 10_000;
const BINARIES = ['redis-server', 'valkey-server'];

export interface TestRedisOptions {
  /** Path of the server's program. Default: `REDIS_SERVER_BIN`, else `redis-server` or `valkey-server` in the `PATH`. */
  readonly binary?: string;
  /** What the program needs in its environment besides that of this process. */
  readonly env?: Readonly<Record<string, string>>;
  /** Further settings, as in `redis.conf`. */
  readonly config?: Readonly<Record<string, string>>;
}

/** A real server for one test run. */
export interface TestRedis extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  /** Ends the server, and removes its files. Idempotent. */
  stop(): Promise<void>;
}

/**
 * Starts a real Redis on a free port of this machine, without persistence: for tests that are about Redis itself.
 *
 * @throws Error when no server is installed, or it does not start within 10 s
 *
 * @example
 * ```ts
 * let redis: TestRedis;
 * beforeAll(async () => (redis = await startTestRedis()));
 * afterAll(() => redis.stop());
 * ```
 */
export async function startTestRedis({ binary, env = {}, config = {} }: TestRedisOptions = {}): Promise<TestRedis> {
  const folder = await mkdtemp(path.join(tmpdir(), 'test-redis-'));
  const candidates = [binary ?? process.env.REDIS_SERVER_BIN].filter((each) => each !== undefined);
  let child: ChildProcess | undefined;
  try {
    for (const program of candidates.length > 0 ? candidates : BINARIES) {
      const port = await freePort();
      const settings = { bind: '127.0.0.1', port: String(port), save: '', appendonly: 'no', dir: folder, ...config };
      child = await started(
        program,
        Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]),
        env,
      );
      if (child !== undefined) return running(child, port, folder);
    }
  } catch (error) {
    child?.kill('SIGKILL');
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
  await rm(folder, { recursive: true, force: true });
  throw new Error(
    `no Redis server found: install one, or name it by 'binary' or REDIS_SERVER_BIN (tried ${BINARIES.join(', ')})`,
  );
}

function running(child: ChildProcess, port: number, folder: string): TestRedis {
  const kill = (): boolean => child.kill('SIGKILL');
  process.once('exit', kill);
  let stopping: Promise<void> | undefined;
  const stop = (): Promise<void> => (stopping ??= end());
  const end = async (): Promise<void> => {
    process.off('exit', kill);
    if (child.exitCode === null && child.signalCode === null) {
      await new Promise((resolve) => {
        child.once('exit', resolve);
        kill();
      });
    }
    await rm(folder, { recursive: true, force: true });
  };
  return { url: `redis://127.0.0.1:${port}`, port, stop, [Symbol.asyncDispose]: stop };
}

/** @returns `undefined` when there is no such program */
function started(
  program: string,
  args: string[],
  env: Readonly<Record<string, string>>,
): Promise<ChildProcess | undefined> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...env } });
    let output = '';
    const fail = (why: string): void => {
      child.kill('SIGKILL');
      reject(new Error(`${program} ${why}; it said: ${output.slice(-500)}`));
    };
    const timer = setTimeout(() => fail(`did not start within ${STARTUP_TIME} ms`), STARTUP_TIME);
    child.once('error', (error: NodeJS.ErrnoException) => {
      clearTimeout(timer);
      if (error.code === 'ENOENT') resolve(undefined);
      else reject(error);
    });
    child.once('exit', (code) => {
      clearTimeout(timer);
      fail(`ended with ${code}`);
    });
    const listen = (data: Buffer): void => {
      output += data.toString();
      if (!/Ready to accept connections/.test(output)) return;
      clearTimeout(timer);
      child.removeAllListeners('exit');
      child.stdout.removeAllListeners('data').resume();
      resolve(child);
    };
    child.stdout.on('data', listen);
    child.stderr.on('data', (data: Buffer) => (output += data.toString()));
  });
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}
