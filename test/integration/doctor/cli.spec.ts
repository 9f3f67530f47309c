import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { DoctorReport } from 'nestjs-redis-patterns';
import { eventually } from '../../support/eventually.js';
import { useOwn } from '../../support/topologies.js';

const LOADER = new URL('../../../scripts/ts-loader.mjs', import.meta.url).href;
const MAIN = fileURLToPath(new URL('../../../libs/redis-patterns/src/doctor/cli/main.ts', import.meta.url));
const own = useOwn('standalone', { acl: true, config: { maxmemory: '200mb' } });
/** A machine under test may be slow, and one of the runs has a wrong password (ERR001). */
const CALM = ['--skip', 'SEC004,CON003,CMD003,CMD004,LAT001,ERR001', '--set', 'CON005.warn=1000000000'];

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'doctor-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

interface Run {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

interface RunOptions {
  readonly env?: Record<string, string>;
  readonly input?: string;
  /** Called with the process once it runs. */
  readonly whileRunning?: (kill: () => void) => Promise<void>;
}

/** The command as it is called from a shell; neither of its streams is a terminal. */
function run(args: readonly string[], { env = {}, input = '', whileRunning }: RunOptions = {}): Promise<Run> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['--import', LOADER, MAIN, ...args], {
      env: { ...process.env, NODE_OPTIONS: '', ...env },
      timeout: 25_000,
    });
    const output = { stdout: '', stderr: '' };
    child.stdout.on('data', (chunk: Buffer) => (output.stdout += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (output.stderr += chunk.toString()));
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, ...output }));
    child.stdin.end(input);
    whileRunning?.(() => child.kill('SIGINT')).catch(reject);
  });
}

function urlOf(user: string): string {
  const { host, port } = own.topology.connection as { host: string; port: number };
  return `redis://${user}@${host}:${port}`;
}

describe('npx nestjs-redis-patterns doctor', () => {
  it('exits with 0, 1 or 2, and tells no password', async () => {
    const { username, password } = own.topology.users!.app;
    await own.admin.client.set('shop:lock:a', 1);
    const baseline = path.join(folder, 'baseline.json');
    const accepted = [
      { rule: 'TTL002', scope: { prefix: 'shop:lock:*' }, why: 'on purpose', until: '2999-12-31' },
      { rule: 'PER001', why: 'a test' },
    ];
    await writeFile(baseline, JSON.stringify({ accepted }));
    const environment = { env: { REDIS_PASSWORD: password } };
    const [json, text, wrong, unreachable, bare] = await Promise.all([
      run(['doctor', urlOf(username), '--json', '--namespace', 'shop', ...CALM], environment),
      run(['doctor', urlOf(username), '--password-stdin', '--baseline', baseline, ...CALM], { input: `${password}\n` }),
      run(['doctor', urlOf(username), ...CALM], { env: { REDIS_PASSWORD: `${password}-wrong` } }),
      run(['doctor', 'redis://somebody:secret@127.0.0.1:1']),
      run([]),
    ]);

    expect({ ...json, stdout: '' }).toEqual({ code: 1, stdout: '', stderr: '' });
    const report = JSON.parse(json.stdout) as DoctorReport;
    expect(report).toMatchObject({ schemaVersion: 1, failed: true, worst: 'critical', sample: { keys: 1 } });
    expect(report.findings[0]).toMatchObject({ id: 'TTL002', severity: 'critical', scope: { prefix: 'shop:lock:*' } });

    expect({ ...text, stdout: '' }).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(text.stdout).toMatch(/^redis 7[^\n]*standalone: 1 of 1 keys/);
    expect(text.stdout).toMatch(/WARN +REP001 replicas/);
    expect(text.stdout).toContain('TTL002 no-ttl  shop:lock:*: on purpose until 2999-12-31');

    expect(wrong).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('WRONGPASS') });
    expect(unreachable).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('ECONNREFUSED') });
    expect(bare).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('Usage:') });
    for (const { stdout, stderr } of [json, text, wrong, unreachable]) {
      expect(stdout + stderr).not.toContain(password);
      expect(stdout + stderr).not.toContain('secret');
    }
  }, 30_000);

  it('ends by a signal and leaves no socket', async () => {
    const { username, password } = own.topology.users!.app;
    const sockets = async () => String(await own.admin.client.call('CLIENT', 'LIST'));
    const watch = ['doctor', urlOf(username), '--window', '20s'];
    const stopped = await run(watch, {
      env: { REDIS_PASSWORD: password },
      whileRunning: async (kill) => {
        await eventually(async () => expect(await sockets()).toContain(':doctor:'), { timeout: 20_000 });
        kill();
      },
    });
    expect(stopped).toEqual({ code: 2, stdout: '', stderr: 'Ended by SIGINT.\n' });
    await eventually(async () => expect(await sockets()).not.toContain(':doctor:'));
  }, 30_000);
});
