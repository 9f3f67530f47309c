import { afterEach, describe, expect, it } from '@jest/globals';
import tls from 'node:tls';
import { eventually } from '../support/eventually.js';
import { RedisAdmin } from '../support/redis-admin.js';
import { describeOnEachTopology, startOwn, type Mode, type Topology } from '../support/topologies.js';

describeOnEachTopology('the shared servers', (topology) => {
  it('answer a client that was given the connection options', async () => {
    const key = `${topology.namespace}:greeting`;
    await topology.admin.client.set(key, 'hello', 'PX', 60_000);
    expect(await topology.admin.client.get(key)).toBe('hello');
    expect(await topology.admin.keys(`${topology.namespace}:*`)).toEqual([key]);
  });

  it('have the promised shape', async () => {
    const masters = topology.admin.masters();
    expect(masters).toHaveLength(topology.mode === 'cluster' ? 3 : 1);
    expect(topology.nodes).toHaveLength({ standalone: 1, sentinel: 3, cluster: 6 }[topology.mode]);
    for (const master of masters) expect(await master.info('replication')).toContain('role:master');
  });

  it('allow DEBUG, which tests of faults need', async () => {
    for (const master of topology.admin.masters()) expect(await master.call('DEBUG', 'SLEEP', '0')).toBe('OK');
  });
});

describe('servers of one’s own', () => {
  let own: Topology | undefined;
  let admin: RedisAdmin | undefined;

  afterEach(async () => {
    admin?.close();
    await own?.stop();
    own = admin = undefined;
  });

  async function start(mode: Mode, options: Parameters<typeof startOwn>[1]): Promise<Topology> {
    own = await startOwn(mode, options);
    return own;
  }

  for (const mode of ['standalone', 'sentinel', 'cluster'] as const) {
    it(`speak only TLS and know only their users (${mode})`, async () => {
      const topology = await start(mode, { tls: true, acl: true });
      admin = await RedisAdmin.connect(topology.connection);
      await admin.client.set('key', 'value');
      expect(await admin.client.get('key')).toBe('value');
      const node = await topology.primary();
      await expect(handshake(node.port, undefined)).rejects.toThrow(/certificate|self-signed|unable to verify/i);
      await expect(handshake(node.port, topology.tls?.ca)).resolves.toMatch(/^-NOAUTH/);
    });
  }

  it('lose everything in a crash without persistence, keep acknowledged writes with aof, and come back on their port', async () => {
    for (const persistence of ['none', 'aof'] as const) {
      const topology = await start('standalone', { persistence });
      const node = await topology.primary();
      await node.command('SET', 'key', 'value');
      await topology.kill(node);
      await expect(node.command('PING')).rejects.toThrow(/ECONNREFUSED/);
      const { port } = node;
      await topology.restart(node);
      expect(node.port).toBe(port);
      expect(await node.command('GET', 'key')).toBe(persistence === 'aof' ? 'value' : null);
      await topology.restart(node, { data: 'wipe' });
      expect(await node.command('GET', 'key')).toBeNull();
      await topology.stop();
    }
  });

  it('hang while frozen and execute what waited when they resume', async () => {
    const topology = await start('standalone', {});
    const node = await topology.primary();
    topology.freeze(node);
    await expect(node.command('SET', 'key', 'late')).rejects.toThrow(/No answer/);
    topology.resume(node);
    await eventually(async () => expect(await node.command('GET', 'key')).toBe('late'));
  });

  it('notice when the server ends by itself', async () => {
    const topology = await start('standalone', {});
    const node = await topology.primary();
    await node.command('SHUTDOWN', 'NOSAVE').catch(() => {});
    await eventually(() => node.state === 'dead');
    await topology.restart(node);
    expect(await node.command('PING')).toBe('PONG');
  });

  for (const mode of ['sentinel', 'cluster'] as const) {
    it(`replace a master on command and after a crash (${mode})`, async () => {
      const topology = await start(mode, {});
      const first = await topology.primary();
      const second = await topology.failover();
      expect(second).not.toBe(first);
      expect((await second.info('replication')).role).toBe('master');
      const mastersBefore = await topology.masters();
      await topology.kill(second);
      await eventually(async () => expect(await topology.masters()).toHaveLength(mastersBefore.length), {
        timeout: 20_000,
      });
      expect(await topology.masters()).not.toContain(second);
      await topology.restart(second);
      await eventually(async () => expect((await second.info('replication')).role).toBe('slave'), { timeout: 20_000 });
    });
  }
});

/** What a plain PING over TLS is answered. */
function handshake(port: number, ca: string | undefined): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = tls.connect({ host: '127.0.0.1', port, ca }, () => socket.write('PING\r\n'));
    socket.once('data', (data) => {
      resolve(data.toString());
      socket.destroy();
    });
    socket.once('error', reject);
  });
}
