import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { CacheService, RedisConnections } from 'nestjs-redis-patterns';
import { sharedTopology, startOwn, type Mode, type Topology } from '../../support/topologies.js';
import { TestApps } from './test-apps.js';

/** A boot that knows the cause does not use up the 5 s that a silent server is given. */
const AT_ONCE = 4000;
/** 5 s for a silent server, and slack for a loaded machine. */
const BOUNDED = 8000;
const MODES: readonly Mode[] = ['standalone', 'sentinel', 'cluster'];

const apps = new TestApps();
afterEach(() => apps.close());

/** The connection with other TLS options, also for the Sentinels. */
function withTls({ connection }: { connection: object }, tls: unknown): object {
  const { sentinel } = connection as { sentinel?: object };
  return { ...connection, tls, ...(sentinel && { sentinel: { ...sentinel, tls } }) };
}

/** Runs a call and a blocking one, which has a socket of its own. */
async function useRedis(connection: object): Promise<void> {
  const application = await apps.boot({ ...connection, startup: 'fail-fast' });
  await application.get(CacheService).set('k', 'v');
  expect(await application.get(CacheService).get('k')).toBe('v');
  const answer = application.get(RedisConnections).withBlocking('default', (client) => client.ping());
  expect(await answer).toBe('PONG');
}

describe.each(MODES)('TLS on %s', (mode) => {
  let topology: Topology;
  let ca: string;
  beforeAll(async () => {
    topology = await startOwn(mode, { tls: true, acl: true });
    ca = topology.tls!.ca;
  });
  afterAll(() => topology.stop());

  it('works with the authority, from options and from a URL', async () => {
    await useRedis(topology.connection);
    const { sentinel } = topology.connection as { sentinel?: object };
    expect(topology.url).toMatch(/^rediss/);
    await useRedis({ url: topology.url, tls: { ca }, ...(sentinel && { sentinel }) });
  });

  it('takes a name for the certificate where the address is an IP', async () => {
    await useRedis(withTls(topology, { ca, servername: 'localhost' }));
  });

  it.each(['wait', 'fail-fast'])('fails the boot without the authority, startup %s', async (startup) => {
    const { error, elapsed } = await apps.failure({ ...withTls(topology, true), startup });
    expect(error).toMatchObject({ code: 'ERR_REDIS_CONNECT', name: 'RedisConnectError' });
    expect(error.message).toMatch(/certificate/);
    expect(error.message).toMatch(/'tls'.*'ca'/);
    expect(elapsed).toBeLessThan(AT_ONCE);
  });

  it('fails the boot when the certificate is for another name', async () => {
    const { error, elapsed } = await apps.failure(withTls(topology, { ca, servername: 'redis.example' }));
    expect(error).toMatchObject({ code: 'ERR_REDIS_CONNECT' });
    expect(error.message).toMatch(/altnames.*'servername'/s);
    expect(elapsed).toBeLessThan(AT_ONCE);
  });

  it('accepts any certificate only when that is said twice', async () => {
    const careless = withTls(topology, { rejectUnauthorized: false });
    const { error } = await apps.failure(careless);
    expect(error).toMatchObject({ code: 'ERR_INVALID_OPTIONS' });
    expect(error.message).toMatch(/tls\.rejectUnauthorized.*allowInsecureTls: true/);
    await useRedis({ ...careless, allowInsecureTls: true });
  });

  it('says that the port wants TLS when the options speak plain text', async () => {
    const { error, elapsed } = await apps.failure({ ...withTls(topology, undefined), startup: 'fail-fast' });
    expect(error).toMatchObject({ code: 'ERR_REDIS_CONNECT' });
    expect(elapsed).toBeLessThan(BOUNDED);
    expect(error.message).toMatch(/'tls'|rediss:/);
  });

  it('says that the port speaks plain text when the options want TLS', async () => {
    const { error, elapsed } = await apps.failure({ ...withTls(sharedTopology(mode), { ca }), startup: 'fail-fast' });
    expect(error).toMatchObject({ code: 'ERR_REDIS_CONNECT' });
    expect(elapsed).toBeLessThan(BOUNDED);
    expect(error.message).toMatch(/'tls'/);
  });

  it('refuses versions of TLS below 1.2', async () => {
    const { error } = await apps.failure(withTls(topology, { ca, minVersion: 'TLSv1.1' }));
    expect(error).toMatchObject({ code: 'ERR_INVALID_OPTIONS' });
    expect(error.message).toContain('tls.minVersion');
  });
});

describe('a server that wants certificates of its clients', () => {
  it('gets them, and without one the boot fails', async () => {
    const topology = await startOwn('standalone', { tls: true });
    const { ca, cert, key } = topology.tls!;
    try {
      // Only from here on: the harness itself brings no certificate.
      await (await topology.primary()).command('CONFIG', 'SET', 'tls-auth-clients', 'yes');
      await useRedis(withTls(topology, { ca, cert, key }));
      const { error } = await apps.failure({ ...topology.connection, startup: 'fail-fast' });
      expect(error).toMatchObject({ code: 'ERR_REDIS_CONNECT' });
      expect(error.message).toMatch(/'tls'/);
      expect(error.message).not.toContain(key.slice(30, 60));
    } finally {
      await topology.stop();
    }
  });
});

describe('TLS of Sentinels and of their servers', () => {
  it('is not taken from the servers when it is switched off for the Sentinels', async () => {
    const topology = await startOwn('sentinel', { tls: true });
    try {
      const { sentinel } = topology.connection as { sentinel?: object };
      const plain = { ...topology.connection, sentinel: { ...sentinel, tls: false }, startup: 'fail-fast' };
      // These Sentinels want TLS: were the option ignored, the boot would succeed.
      const { error } = await apps.failure(plain);
      expect(error).toMatchObject({ code: 'ERR_REDIS_CONNECT' });
    } finally {
      await topology.stop();
    }
  });
});

it('refuses a URL that wants TLS beside options that do not', async () => {
  const { error } = await apps.failure({ url: 'rediss://127.0.0.1:1', tls: false });
  expect(error).toMatchObject({ code: 'ERR_INVALID_OPTIONS' });
  expect(error.message).toContain("'tls'");
});
