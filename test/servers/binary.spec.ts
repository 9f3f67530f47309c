import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { adviceFor, findServer } from '../../scripts/servers/binary.mjs';
import { osRelease } from '../../scripts/servers/debian.mjs';

describe('finding a server program', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(path.join(os.tmpdir(), 'find-server-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  const quiet = (): void => {};
  const failure = async (env: NodeJS.ProcessEnv): Promise<Error & { code?: string }> =>
    findServer({ env, progress: quiet }).then(
      () => Promise.reject(new Error('a server was found')),
      (error: Error) => error,
    );

  async function program(name: string, prints: string): Promise<string> {
    const file = path.join(folder, name);
    await writeFile(file, `#!/bin/sh\necho '${prints}'\n`);
    await chmod(file, 0o755);
    return file;
  }

  it('gives one clear error when there is none and none can be obtained', async () => {
    const error = await failure({ PATH: folder, NESTJS_REDIS_PATTERNS_CACHE: path.join(folder, 'cache') });
    expect(error.code).toBe('ERR_NO_REDIS_SERVER');
    expect(error.message).toContain('REDIS_SERVER_BIN=');
    expect(error.message).toContain('REDIS_URL=');
    expect(error.message).toContain('docker run');
  });

  it('prefers REDIS_SERVER_BIN and says what is wrong with it', async () => {
    const found = await findServer({ progress: quiet });
    const file = path.join(folder, 'my-redis');
    await writeFile(
      file,
      `#!/bin/sh\nLD_LIBRARY_PATH='${found.env.LD_LIBRARY_PATH ?? ''}' exec '${found.path}' "$@"\n`,
    );
    await chmod(file, 0o755);
    expect(await findServer({ env: { REDIS_SERVER_BIN: file }, progress: quiet })).toMatchObject({
      path: file,
      source: 'env',
    });
    expect((await failure({ REDIS_SERVER_BIN: path.join(folder, 'missing') })).message).toMatch(
      /REDIS_SERVER_BIN=.*missing.*ENOENT/,
    );
    expect((await failure({ REDIS_SERVER_BIN: await program('other', 'hello') })).message).toMatch(/hello/);
    const old = await program('old', 'Redis server v=6.2.1 sha=0');
    expect((await failure({ REDIS_SERVER_BIN: old })).message).toMatch(/6\.2\.1.*7\.0\.0 or newer/);
  });

  it('takes valkey-server from PATH when redis-server there is too old', async () => {
    await program('redis-server', 'Redis server v=6.0.16 sha=00000000:0 malloc=jemalloc-5.2.1 bits=64 build=0');
    const valkey = await program(
      'valkey-server',
      'Valkey server v=8.0.1 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=0',
    );
    expect(await findServer({ env: { PATH: folder }, progress: quiet })).toMatchObject({
      path: valkey,
      flavour: 'valkey',
      version: [8, 0, 1],
      source: 'path',
    });
  });

  async function cachedCopy(): Promise<{ cache: string; copy: string }> {
    const release = await osRelease();
    const cache = path.join(folder, 'cache');
    const copy = path.join(cache, `redis-server-${release.ID ?? 'linux'}${release.VERSION_ID ?? ''}-${process.arch}`);
    await mkdir(copy, { recursive: true });
    return { cache, copy };
  }

  it('takes a copy of an earlier run from the cache', async () => {
    const { cache, copy } = await cachedCopy();
    const file = await program('any', 'Redis server v=7.2.4 sha=00000000:0');
    await symlink(file, path.join(copy, 'redis-server'));
    const found = await findServer({ env: { PATH: '', NESTJS_REDIS_PATTERNS_CACHE: cache }, progress: quiet });
    expect(found).toMatchObject({ source: 'cache', version: [7, 2, 4], path: path.join(copy, 'redis-server') });
  });

  it('does not use a broken copy in the cache', async () => {
    const { cache, copy } = await cachedCopy();
    await symlink('/nowhere', path.join(copy, 'redis-server'));
    const error = await failure({ PATH: '', NESTJS_REDIS_PATTERNS_CACHE: cache });
    expect(error.code).toBe('ERR_NO_REDIS_SERVER');
  });

  it('names the command of the system in its advice', async () => {
    const commandFor = (platform: string, release = {}): Promise<string> => adviceFor(platform, release, []);
    expect(await commandFor('darwin')).toContain('brew install redis');
    expect(await commandFor('linux', { ID: 'alpine' })).toContain('apk add redis');
    expect(await commandFor('linux', { ID: 'rocky', ID_LIKE: 'rhel centos fedora' })).toContain('dnf install valkey');
    expect(await commandFor('linux', { ID: 'ubuntu', ID_LIKE: 'debian' })).toContain('apt-get install redis-server');
    expect(await commandFor('win32')).toContain('wsl');
  });
});
