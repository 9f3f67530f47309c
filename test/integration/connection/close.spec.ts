import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { CacheService, RedisConnections } from 'nestjs-redis-patterns';
import { startProgram, type Program } from '../../support/child-process.js';
import { openEngine } from '../../support/engine.js';
import { eventually } from '../../support/eventually.js';
import { startOwn, uniqueNamespace, type Mode, type Topology } from '../../support/topologies.js';
import type { ApplicationSetup } from './programs/application.js';
import { TestApps } from './test-apps.js';

const CLOSE_TIMEOUT = 600;
/** What a loaded machine may add. QUIT alone would add 500 ms if it came on top of the limit. */
const SLACK = 400;
const NOBODY = { host: '127.0.0.1', port: 1, startup: 'background' };
const MODES: readonly Mode[] = ['standalone', 'sentinel', 'cluster'];

const apps = new TestApps();
const programs: Program[] = [];
afterEach(async () => {
  await apps.close();
  await Promise.all(programs.splice(0).map((program) => program.kill()));
});

async function elapsedOf(promise: Promise<unknown>): Promise<number> {
  const began = performance.now();
  await promise;
  return performance.now() - began;
}

function run(connection: object, end: ApplicationSetup['end']): Program {
  const data = { namespace: uniqueNamespace(), connection, end };
  const program = startProgram(new URL('./programs/application.ts', import.meta.url), { data });
  programs.push(program);
  return program;
}

describe.each(MODES)('the end of an application on %s', (mode) => {
  let topology: Topology;
  beforeAll(async () => {
    topology = await startOwn(mode);
  });
  afterAll(() => topology.stop());

  const connection = (more: object = {}) => ({ ...topology.connection, closeTimeout: CLOSE_TIMEOUT, ...more });
  const servers = () => [...topology.nodes, ...topology.sentinels];
  async function whileFrozen<T>(run: () => Promise<T>): Promise<T> {
    for (const server of servers()) topology.freeze(server);
    try {
      return await run();
    } finally {
      for (const server of servers()) topology.resume(server);
    }
  }
  const socketNames = async (): Promise<string> => {
    const lists = await Promise.all(topology.nodes.map((node) => node.command('CLIENT', 'LIST') as Promise<string>));
    return lists.join('\n');
  };

  it('may be asked for several times at once, and leaves no socket', async () => {
    const namespace = uniqueNamespace();
    const application = await apps.boot(connection(), namespace);
    const connections = application.get(RedisConnections);
    expect(await socketNames()).toContain(`name=${namespace}:`);
    await Promise.all([connections.close(), connections.close(), application.close()]);
    await connections.close();
    await eventually(async () => expect(await socketNames()).not.toContain(`name=${namespace}:`));
    await expect(application.get(CacheService).set('k', 'v')).rejects.toMatchObject({ code: 'ERR_REDIS_CLOSED' });
  });

  const engine = (more: object) => openEngine({ connection: topology.connection, namespace: uniqueNamespace() }, more);

  it('lets the calls in flight end', async () => {
    const { context, connection: layer, close } = await engine({ closeTimeout: 5000, commandTimeout: 5000 });
    const key = context.keys.main('test', 'k');
    const calls = await whileFrozen(async () => {
      const sent = Array.from({ length: 20 }, () =>
        layer.run({ name: 'test.incr', effect: 'once', key, send: (client) => client.incr(key) }),
      );
      const closing = close();
      // Longer than a polite QUIT and the end of a socket take: the calls end well only if the close waits for them.
      const since = performance.now();
      await eventually(() => performance.now() - since > 1500);
      return [closing, ...sent];
    });
    expect((await Promise.all(calls)).slice(1)).toEqual(Array.from({ length: 20 }, (_, n) => n + 1));
  });

  it('keeps its limit while the servers hang, and every call settles', async () => {
    const settings = { closeTimeout: CLOSE_TIMEOUT, commandTimeout: 10_000 };
    const { context, connection: layer, close } = await engine(settings);
    let waiting = false;
    const blocked = layer.withBlocking(async (lease) => {
      await lease.ready();
      waiting = true;
      return lease.client.blpop(context.keys.main('test', 'empty'), 0);
    });
    await eventually(() => waiting);
    const key = context.keys.main('test', 'k');
    await whileFrozen(async () => {
      const calls = Array.from({ length: 200 }, () =>
        layer.run({ name: 'test.incr', effect: 'once', key, send: (client) => client.incr(key) }),
      );
      const settled = Promise.allSettled([blocked, ...calls]);
      expect(await elapsedOf(close())).toBeLessThan(CLOSE_TIMEOUT + SLACK);
      const results = await settled;
      expect(new Set(results.map(({ status }) => status))).toEqual(new Set(['rejected']));
    });
  });

  it.each(['application', 'connections', 'in-flight', 'signal'] as const)('lets the process exit: %s', async (end) => {
    const program = run(topology.connection, end);
    if (end === 'signal') {
      await program.next('ready');
      await program.kill('SIGTERM');
      expect(program.ending).toEqual({ code: null, signal: 'SIGTERM' });
    } else {
      await program.next('closed');
      expect(await program.exited({ timeout: 5000 })).toEqual({ code: 0, signal: null });
    }
    expect(program.output).toBe('');
  });

  it('lets the process exit while the servers hang', async () => {
    const program = run(connection(), 'signal');
    await program.next('ready');
    await whileFrozen(async () => {
      expect(await elapsedOf(program.kill('SIGTERM'))).toBeLessThan(5000);
      expect(program.ending).toEqual({ code: null, signal: 'SIGTERM' });
      expect(program.output).toBe('');
    });
  });

  it('comes by itself after a boot that failed', async () => {
    const program = run({ ...topology.connection, password: 'wrong', username: 'nobody' }, 'signal');
    expect(await program.next('failed')).toMatchObject({ code: 'ERR_REDIS_CONNECT' });
    expect(await program.exited({ timeout: 5000 })).toEqual({ code: 0, signal: null });
    expect(program.output).toBe('');
    expect(await socketNames()).not.toContain(':command:');
  });
});

describe('the end of an application that is not connected', () => {
  it.each([
    ['nobody listens', NOBODY],
    ['its password is on its way', { ...NOBODY, password: () => new Promise<string>(() => undefined) }],
  ])('keeps its limit when %s', async (_why, connection) => {
    const application = await apps.boot({ ...connection, closeTimeout: CLOSE_TIMEOUT });
    const call = application
      .get(CacheService)
      .set('k', 'v')
      .catch((error: unknown) => error);
    expect(await elapsedOf(application.close())).toBeLessThan(CLOSE_TIMEOUT + SLACK);
    expect(await call).toMatchObject({ outcome: 'not-sent' });
  });

  it('lets the process exit', async () => {
    const program = run(NOBODY, 'in-flight');
    await program.next('closed');
    expect(await program.exited({ timeout: 5000 })).toEqual({ code: 0, signal: null });
    expect(program.output).toBe('');
  });
});
