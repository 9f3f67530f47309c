import { describe, expect, it } from '@jest/globals';
import type { ManagedConnection, Subscription } from '../../../libs/redis-patterns/src/connection/index.js';
import { eventually } from '../../support/eventually.js';
import { RedisAdmin } from '../../support/redis-admin.js';
import { describeOnEachTopology, startOwn, startProxy, type SharedTopology } from '../../support/topologies.js';
import { closeConnections, openConnection } from './open-connection.js';

/** What a subscription was told, in order. */
function listen(
  connection: ManagedConnection,
  kind: 'channel' | 'pattern',
  name: string,
): { events: string[]; subscription: Subscription } {
  const events: string[] = [];
  const subscription = connection.subscribe(kind, name, {
    message: (payload, channel) => events.push(`${channel}=${payload.toString()}`),
    gap: () => events.push('gap'),
  });
  return { events, subscription };
}

/** Kills the sockets of one role; gives how many there were. */
async function killSockets(admin: RedisAdmin, nodes: SharedTopology['nodes'], role: string): Promise<number> {
  let killed = 0;
  for (const { host, port } of nodes) {
    const node = await RedisAdmin.connect({ mode: 'standalone', host, port });
    const list = (await node.client.call('CLIENT', 'LIST')) as string;
    for (const [, id] of list.matchAll(new RegExp(`^id=(\\d+) .* name=\\S+:default:${role}:\\d+ `, 'gm'))) {
      await node.client.call('CLIENT', 'KILL', 'ID', id!);
      killed++;
    }
    node.close();
  }
  return killed;
}

describeOnEachTopology('the subscriber', (topology) => {
  const channel = (name: string): string => `${topology.namespace}:${name}`;

  it('hears channels and patterns, with any number of handlers, until each is closed', async () => {
    const connection = await openConnection(topology.connection);
    const one = listen(connection, 'channel', channel('news'));
    const two = listen(connection, 'channel', channel('news'));
    const all = listen(connection, 'pattern', channel('n*'));
    await Promise.all([one, two, all].map(({ subscription }) => subscription.confirmed()));
    await topology.admin.client.publish(channel('news'), 'a');
    for (const { events } of [one, two, all]) await eventually(() => expect(events).toEqual([`${channel('news')}=a`]));

    one.subscription.close();
    one.subscription.close();
    await topology.admin.client.publish(channel('news'), 'b');
    await eventually(() => expect(two.events).toHaveLength(2));
    expect(one.events).toHaveLength(1);
    two.subscription.close();
    all.subscription.close();
    await eventually(async () => {
      const counts = await Promise.all(
        topology.admin.masters().map((master) => master.pubsub('NUMSUB', channel('news'))),
      );
      expect(counts.every(([, count]) => Number(count) === 0)).toBe(true);
    });
  });

  it('invariant 10: tells of a lost socket once, before the first message of the time after', async () => {
    const connection = await openConnection(topology.connection);
    const events = ['x', 'y', 'z'].map((name) => listen(connection, 'channel', channel(name)));
    const pattern = listen(connection, 'pattern', channel('?'));
    await Promise.all([...events, pattern].map(({ subscription }) => subscription.confirmed()));
    // Somebody who publishes all the time, so that a message may come in the same packet as the confirmation.
    let publishing = true;
    const publisher = (async () => {
      while (publishing)
        await Promise.all(['x', 'y', 'z'].map((name) => topology.admin.client.publish(channel(name), '1')));
    })();
    try {
      for (let round = 1; round <= 3; round++) {
        const before = events.map((each) => each.events.length);
        expect(await killSockets(topology.admin, topology.nodes, 'subscriber')).toBe(1);
        await eventually(() => {
          events.forEach((each, n) => expect(each.events.length).toBeGreaterThan(before[n]! + 5));
          for (const each of [...events, pattern]) {
            expect(each.events.filter((event) => event === 'gap')).toHaveLength(round);
          }
        });
      }
    } finally {
      publishing = false;
      await publisher;
    }
  });

  it('hears at once what another socket would have to be asked for: nobody listens before it is confirmed', async () => {
    const connection = await openConnection(topology.connection);
    for (let n = 0; n < 20; n++) {
      const each = listen(connection, 'channel', channel(`c${n}`));
      await each.subscription.confirmed();
      await topology.admin.client.publish(channel(`c${n}`), 'm');
      await eventually(() => expect(each.events).toEqual([`${channel(`c${n}`)}=m`]));
    }
  });
});

describeOnEachTopology('a tracking feed', (topology) => {
  it('tells every change of keys with the prefix, on every master, and nothing else', async () => {
    const connection = await openConnection(topology.connection);
    const changed = new Set<string>();
    const prefix = `${topology.namespace}:p:`;
    const feed = connection.track(prefix, {
      armed: () => {},
      lost: () => {},
      invalidated: (keys) => keys?.forEach((key) => changed.add(key.toString())),
    });
    await eventually(() => feed.armed);
    const keys = Array.from({ length: 30 }, (_, n) => `${prefix}${n}`);
    await Promise.all(keys.map((key) => topology.admin.client.set(key, 'v', 'PX', 60_000)));
    await topology.admin.client.set(`${topology.namespace}:q`, 'v', 'PX', 60_000);
    await eventually(() => expect([...changed].toSorted()).toEqual(keys.toSorted()));
    changed.clear();
    await topology.admin.client.pexpire(keys[0]!, 5);
    await eventually(() => expect([...changed]).toEqual([keys[0]]));
    feed.close();
  });

  it('says at once when it may miss something, and when it is whole again', async () => {
    const connection = await openConnection(topology.connection);
    const events: string[] = [];
    const feed = connection.track(`${topology.namespace}:t:`, {
      armed: () => events.push('armed'),
      lost: () => events.push('lost'),
      invalidated: (keys) => events.push(keys!.join()),
    });
    await eventually(() => expect(events).toEqual(['armed']));
    expect(await killSockets(topology.admin, topology.nodes, 'tracking')).toBe(topology.admin.masters().length);
    await eventually(() => {
      expect(events).toContain('lost');
      expect(events.at(-1)).toBe('armed');
    });
    expect(feed.armed).toBe(true);
    await topology.admin.client.set(`${topology.namespace}:t:1`, 'v', 'PX', 60_000);
    await eventually(() => expect(events.at(-1)).toBe(`${topology.namespace}:t:1`));
  });
});

describe('sockets that only listen', () => {
  it('are replaced when they are half-open, although nothing shows it', async () => {
    const topology = await startOwn('standalone');
    const proxy = await startProxy((await topology.primary()) as { host: string; port: number });
    try {
      const connection = await openConnection(
        { mode: 'standalone', host: proxy.host, port: proxy.port },
        { pingInterval: '100ms' },
      );
      const { events, subscription } = listen(connection, 'channel', 'news');
      let lost = 0;
      const feed = connection.track('p:', { armed: () => {}, lost: () => lost++, invalidated: () => {} });
      await subscription.confirmed();
      await eventually(() => feed.armed);
      await proxy.set('halfOpen');
      await proxy.set('pass');
      await eventually(() => expect(events).toEqual(['gap']), { timeout: 10_000 });
      await eventually(() => expect([lost, feed.armed]).toEqual([1, true]), { timeout: 10_000 });
    } finally {
      await closeConnections();
      await proxy.close();
      await topology.stop();
    }
  });

  it('wait for a server that is not there, and hear FLUSHALL', async () => {
    const topology = await startOwn('standalone');
    const node = await topology.primary();
    try {
      const connection = await openConnection(topology.connection);
      await topology.kill(node);
      const { events, subscription } = listen(connection, 'channel', 'news');
      await expect(subscription.confirmed(AbortSignal.timeout(50))).rejects.toMatchObject({ name: 'TimeoutError' });
      const flushed: unknown[] = [];
      const feed = connection.track('p:', {
        armed: () => {},
        lost: () => {},
        invalidated: (keys) => flushed.push(keys),
      });
      await topology.restart(node, { data: 'wipe' });
      await subscription.confirmed();
      await eventually(() => feed.armed);
      const admin = await RedisAdmin.connect(topology.connection);
      await admin.client.publish('news', 'm');
      await admin.client.flushall();
      admin.close();
      await eventually(() => expect([events, flushed]).toEqual([['news=m'], [null]]));
    } finally {
      await closeConnections();
      await topology.stop();
    }
  });

  it('say which channel the user may not hear, and go on with the others', async () => {
    const topology = await startOwn('standalone');
    try {
      const admin = await RedisAdmin.connect(topology.connection);
      await admin.client.call('ACL', 'SETUSER', 'ear', 'on', '>pw', '~*', '+@all', 'resetchannels', '&allowed');
      admin.close();
      const connection = await openConnection({ ...topology.connection, username: 'ear', password: 'pw' });
      const allowed = listen(connection, 'channel', 'allowed');
      const forbidden = listen(connection, 'channel', 'forbidden');
      await expect(forbidden.subscription.confirmed()).rejects.toThrow(/NOPERM/);
      await allowed.subscription.confirmed();
    } finally {
      await closeConnections();
      await topology.stop();
    }
  });

  it('end with their connection', async () => {
    const topology = await startOwn('standalone');
    try {
      const connection = await openConnection(topology.connection);
      const { subscription } = listen(connection, 'channel', 'news');
      connection.track('p:', { armed: () => {}, lost: () => {}, invalidated: () => {} });
      await subscription.confirmed();
      const pending = listen(connection, 'channel', 'later');
      await connection.close();
      await expect(pending.subscription.confirmed()).rejects.toMatchObject({ code: 'ERR_REDIS_CLOSED' });
      expect(() => listen(connection, 'channel', 'never')).toThrow(/closed/);
      const admin = await RedisAdmin.connect(topology.connection);
      await eventually(async () => expect(await admin.client.call('CLIENT', 'LIST')).not.toContain(':default:'));
      admin.close();
    } finally {
      await topology.stop();
    }
  });
});
