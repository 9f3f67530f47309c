import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { CacheService, type RedisPatternsError } from 'nestjs-redis-patterns';
import { openEngine, type OpenEngine } from '../../support/engine.js';
import { eventually } from '../../support/eventually.js';
import {
  describeOnEachTopology,
  startOwn,
  uniqueNamespace,
  type Mode,
  type Topology,
} from '../../support/topologies.js';
import { TestApps } from './test-apps.js';

const AT_ONCE = 4000;
/** 5 s for a silent server, and slack for a loaded machine. */
const BOUNDED = 8000;
/** How long a fault of the credentials is watched. */
const WATCHED = 4000;
const SECRET = 'hunter2';
const NEVER = new Promise<never>(() => {});
const MODES: readonly Mode[] = ['standalone', 'sentinel', 'cluster'];

const apps = new TestApps();
const engines: OpenEngine[] = [];
afterEach(async () => {
  jest.restoreAllMocks();
  await apps.close();
  await Promise.all(engines.splice(0).map((engine) => engine.close()));
});

describe.each(MODES)('credentials on %s', (mode) => {
  let topology: Topology;
  let password: string;
  beforeAll(async () => {
    topology = await startOwn(mode, { acl: true });
  });
  afterAll(() => topology.stop());
  beforeEach(async () => {
    password = topology.users!.app.password;
    await onServers('ACL', 'SETUSER', 'app', 'reset', 'on', `>${password}`, '~*', '&*', '+@all');
  });

  const onServers = (...command: string[]) => Promise.all(topology.nodes.map((node) => node.command(...command)));
  const setPassword = (next: string) => onServers('ACL', 'SETUSER', 'app', 'resetpass', `>${next}`);
  const cutSockets = () => onServers('CLIENT', 'KILL', 'USER', 'app');
  const connection = (more: object = {}) => ({ ...topology.connection, ...more });

  async function open(more: object = {}): Promise<OpenEngine> {
    const engine = await openEngine({ connection: topology.connection, namespace: uniqueNamespace() }, more);
    engines.push(engine);
    return engine;
  }

  /** Ids of the application's command sockets, on all servers. */
  async function socketIds(): Promise<string[]> {
    const lists = (await onServers('CLIENT', 'LIST')) as string[];
    return lists.flatMap((list) => [...list.matchAll(/^id=(\d+) .*:command:/gm)].map(([, id]) => id!)).toSorted();
  }

  /** Connections that the busiest server has accepted; each look is one more. */
  async function connectionsReceived(): Promise<number> {
    const stats = await Promise.all(topology.nodes.map((node) => node.info('stats')));
    return Math.max(...stats.map(({ total_connections_received: count }) => Number(count)));
  }

  it.each([
    ['gives it', () => password],
    ['promises it', () => Promise.resolve(password)],
  ])('asks the function that %s', async (_how, source) => {
    const application = await apps.boot(connection({ password: source, startup: 'fail-fast' }));
    await application.get(CacheService).set('k', 'v');
    expect(await application.get(CacheService).get('k')).toBe('v');
  });

  it('starts as soon as a password function that failed answers', async () => {
    let asked = 0;
    const source = (): string => {
      if (++asked < 3) throw new Error(`no ${SECRET} yet`);
      return password;
    };
    const application = await apps.boot(connection({ password: source, startup: 'fail-fast' }));
    expect(await application.get(CacheService).get('absent')).toBeUndefined();
    expect(apps.troubles().join()).not.toContain(SECRET);
  });

  it('says nothing of a password that the default user is asked for', async () => {
    await onServers('ACL', 'SETUSER', 'default', 'reset', 'on', `>${SECRET}`, '~*', '&*', '+@all');
    await apps.boot(connection({ username: undefined, password: SECRET, startup: 'fail-fast' }));
    await onServers('ACL', 'SETUSER', 'default', 'off');
    expect(apps.troubles().filter((text) => text.includes('asks for none'))).toEqual([]);
  });

  it.each([
    ['fails', () => Promise.reject(new Error(`vault says ${SECRET}`))],
    ['does not answer', () => NEVER],
  ])('fails the boot in time, by name, when the function %s', async (_how, source) => {
    const { error, elapsed } = await apps.failure(connection({ password: source, startup: 'fail-fast' }));
    expect(elapsed).toBeLessThan(BOUNDED);
    expect(error).toMatchObject({ code: 'ERR_REDIS_CONNECT' });
    expect(error.message).toContain("'password'");
    expect(error.message).not.toContain(SECRET);
  });

  it.each([
    { title: 'a wrong password', wrong: { password: SECRET }, startup: 'wait' },
    { title: 'a wrong password', wrong: { password: SECRET }, startup: 'fail-fast' },
    { title: 'a wrong password from a function', wrong: { password: () => SECRET }, startup: 'fail-fast' },
    { title: 'an unknown user', wrong: { username: 'nobody' }, startup: 'fail-fast' },
    { title: 'no password', wrong: { username: undefined, password: undefined }, startup: 'fail-fast' },
  ])('fails the boot at once with $title, startup $startup', async ({ wrong, startup }) => {
    const { error, elapsed } = await apps.failure(connection({ ...wrong, startup }));
    expect(elapsed).toBeLessThan(AT_ONCE);
    expect(error).toMatchObject({ code: 'ERR_REDIS_CONNECT', name: 'RedisConnectError' });
    expect(error.message).toMatch(/(WRONGPASS|NOAUTH).*'username' and 'password'/s);
    expect(error.message).not.toContain(SECRET);
  });

  /** One call for each of some keys, which lie on all masters; how many failed. */
  async function failuresOf({ connection: layer, context }: OpenEngine, wait = true): Promise<number> {
    let failed = 0;
    for (let n = 0; n < 16; n++) {
      const key = context.keys.main('test', ['k', n]);
      const call = { name: 'test.incr', effect: 'once', wait, deadline: 3000, key } as const;
      await layer.run({ ...call, send: (client) => client.incr(key) }).catch(() => failed++);
    }
    return failed;
  }

  it('follows a rotation: about one error for each server, and back within a second', async () => {
    let current = password;
    const engine = await open({ password: async () => current });
    expect(await failuresOf(engine)).toBe(0);
    current = 'rotated';
    await setPassword(current);
    await cutSockets();
    const began = performance.now();
    const failed = await failuresOf(engine);
    // A second is what the layer promises on an idle machine.
    expect(performance.now() - began).toBeLessThan(1000 + 1000);
    expect(failed).toBeLessThanOrEqual((await topology.masters()).length);
    expect(await failuresOf(engine)).toBe(0);
  });

  it('follows a rotation when one server after the other cuts its sockets', async () => {
    let current = password;
    const engine = await open({ password: () => current });
    current = 'rotated';
    await setPassword(current);
    for (const node of await topology.masters()) {
      await node.command('CLIENT', 'KILL', 'USER', 'app');
      await eventually(async () => expect(await failuresOf(engine)).toBe(0), { timeout: 10_000 });
    }
  });

  it('follows a rotation that the password function learns of later, while replicas keep their sockets', async () => {
    let current = password;
    let asked = 0;
    const engine = await open({
      password: () => {
        asked++;
        return current;
      },
    });
    await setPassword('rotated');
    for (const node of await topology.masters()) await node.command('CLIENT', 'KILL', 'USER', 'app');
    const refusedSince = performance.now();
    asked = 0;
    await eventually(async () => {
      expect(await failuresOf(engine, false)).toBeGreaterThan(0);
      expect(asked).toBeGreaterThan(2);
    });
    // A secret store is asked about as often as the servers are, which is less and less often.
    expect(asked).toBeLessThan(8 + (performance.now() - refusedSince) / 200);
    current = 'rotated';
    await eventually(async () => expect(await failuresOf(engine, false)).toBe(0), { timeout: 15_000 });
  });

  it('keeps its sockets when the password changes and nobody cuts them', async () => {
    let current = password;
    const engine = await open({ password: () => current });
    const before = await socketIds();
    current = 'rotated';
    await setPassword(current);
    const key = engine.context.keys.main('test', ['k']);
    const count = engine.connection.run({ name: 'test.incr', effect: 'once', key, send: (client) => client.incr(key) });
    expect(await count).toBe(1);
    expect(before.length).toBeGreaterThan(0);
    expect(await socketIds()).toEqual(expect.arrayContaining(before));
  });

  it('neither storms the server nor floods the log while the password is wrong, and heals', async () => {
    const application = await apps.boot(connection({ startup: 'fail-fast' }));
    const cache = application.get(CacheService);
    await setPassword('another');
    await cutSockets();
    const before = await connectionsReceived();
    const failure = await eventually(() =>
      cache.set('k', 'v').then(
        () => false as const,
        (error: unknown) => error,
      ),
    );
    expect(failure).toMatchObject({ code: expect.stringMatching(/^ERR_REDIS_(NOT_READY|REFUSED|CONNECTION_LOST)$/) });
    const watchedSince = performance.now();
    await eventually(() => performance.now() - watchedSince > WATCHED, { timeout: WATCHED + 2000 });
    // Back-off from 50 ms doubles up to a second: eight attempts in four seconds; a Cluster asks each node for the slots, too.
    expect((await connectionsReceived()) - before).toBeLessThan(mode === 'cluster' ? 30 : 15);
    expect(apps.troubles().length).toBeLessThanOrEqual(2);
    await setPassword(password);
    await eventually(() => cache.set('k', 'v').then(() => true), { timeout: 10_000 });
    const { length: backs } = apps.lines.filter(({ text }) => text.includes('is back'));
    // The nodes of a Cluster get the password one after the other: it may be lost once more in between.
    expect(backs).toBeGreaterThanOrEqual(1);
    expect(backs).toBeLessThanOrEqual(mode === 'cluster' ? 3 : 1);
  });

  it('survives that its user is deleted and made again', async () => {
    const engine = await open();
    const key = engine.context.keys.main('test', ['k']);
    const call = (): Promise<number> =>
      engine.connection.run({ name: 'test.incr', effect: 'once', key, send: (client) => client.incr(key) });
    await onServers('ACL', 'DELUSER', 'app');
    const error = await eventually(() =>
      call().then(
        () => false as const,
        (failed: RedisPatternsError) => failed,
      ),
    );
    expect(error).toMatchObject({ code: expect.stringMatching(/^ERR_REDIS_(NOT_READY|REFUSED|CONNECTION_LOST)$/) });
    await onServers('ACL', 'SETUSER', 'app', 'reset', 'on', `>${password}`, '~*', '&*', '+@all');
    await eventually(call, { timeout: 10_000 });
  });

  it('calls a command that the user may not run wrong, and says what to change', async () => {
    const engine = await open();
    const key = engine.context.keys.main('test', ['k']);
    await onServers('ACL', 'SETUSER', 'app', '-incr');
    const error = await engine.connection
      .run({ name: 'test.incr', effect: 'once', key, send: (client) => client.incr(key) })
      .catch((failed: RedisPatternsError) => failed);
    expect(error).toMatchObject({
      name: 'RedisCommandError',
      code: 'ERR_REDIS_COMMAND',
      outcome: 'refused',
      reply: 'NOPERM',
    });
    expect((error as Error).message).toMatch(/ACL/);
    expect((error as Error).message).not.toContain(key);
    // The connection stays: one forbidden command is no reason to reconnect.
    expect(await engine.connection.run({ name: 'test.get', effect: 'read', key, send: (c) => c.get(key) })).toBeNull();
  });
});

describeOnEachTopology('a server without a password', ({ mode, connection, namespace }) => {
  it('takes an application that brings one, and is reported, without a word of the password', async () => {
    const print = jest.spyOn(console, 'warn').mockImplementation(() => {});
    const sentinel = mode === 'sentinel' ? { sentinel: { password: SECRET } } : {};
    const given = { ...connection, ...sentinel, password: SECRET, commandTimeout: '10s' };
    const application = await apps.boot(given, namespace, { cache: { l1: true } });
    const cache = application.get(CacheService);
    await eventually(() => expect(cache.stats().l1?.armed).toBe(true), { timeout: 10_000 });
    await cache.set('k', 'v');
    const options = mode === 'sentinel' ? ["'password'", "'sentinel.password'"] : ["'password'"];
    const warnings = options.map((option) =>
      expect.stringMatching(new RegExp(`given ${option}.* asks for none.*requirepass`)),
    );
    // A busy machine may have other troubles.
    const told = () => apps.troubles().filter((text) => text.includes('asks for none'));
    await eventually(() => expect(told().toSorted()).toEqual(warnings), { timeout: 10_000 });
    expect(JSON.stringify(apps.lines)).not.toContain(SECRET);
    // What ioredis has to say of it does not go past the application's logger.
    expect(print).not.toHaveBeenCalled();
  });
});
