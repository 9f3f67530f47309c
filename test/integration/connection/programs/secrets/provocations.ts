import {
  CacheService,
  defineStream,
  LockService,
  RateLimitExceededError,
  RateLimitService,
  StreamProducer,
  type RedisClient,
} from 'nestjs-redis-patterns';
import type { ManagedConnection } from '../../../../../libs/redis-patterns/src/connection/index.js';
import { until } from '../../../../../scripts/servers/index.mjs';
import { BOOTS } from './boots.js';
import { BODY, KEY, PASSWORD, SUBJECT } from './marks.js';
import type { Provocation } from './provocation.js';

const KEY_OF_RUN = `shop:test:${KEY}`;

function send(layer: ManagedConnection, command: (client: RedisClient) => Promise<unknown>, more: object = {}) {
  return layer.run({ name: 'test.send', effect: 'once', key: KEY_OF_RUN, ...more, send: command });
}

/** Undoes what a provocation did to the servers, whatever came of it. */
async function between<T>(before: Promise<unknown>, run: () => Promise<T>, after: () => Promise<unknown>): Promise<T> {
  await before;
  try {
    return await run();
  } finally {
    await after();
  }
}

/** Repeats a call until it fails with that code, and fails so. */
async function insist(code: string, call: () => Promise<unknown>): Promise<never> {
  const isIt = (error: { code?: string }): Error | false => error.code === code && (error as Error);
  throw await until(code, () => call().then(() => false as const, isIt));
}

const COMMANDS: Provocation[] = [
  {
    title: 'a wrong type',
    code: 'ERR_REDIS_COMMAND',
    run: ({ layer }) =>
      send(layer, async (client) => {
        await client.set(KEY_OF_RUN, BODY);
        return client.lpush(KEY_OF_RUN, BODY);
      }),
  },
  {
    title: 'an unknown command, which Redis repeats',
    code: 'ERR_REDIS_COMMAND',
    run: ({ layer }) => send(layer, (client) => client.call('NOSUCH', KEY_OF_RUN, BODY, PASSWORD)),
  },
  {
    title: 'an unknown subcommand, which Redis repeats',
    code: 'ERR_REDIS_COMMAND',
    run: ({ layer }) => send(layer, (client) => client.call('OBJECT', BODY, KEY_OF_RUN)),
  },
  {
    title: 'a group that does not exist, of a key that Redis repeats',
    code: 'ERR_REDIS_COMMAND',
    run: ({ layer }) =>
      send(layer, (client) => client.xreadgroup('GROUP', 'g', 'c', 'STREAMS', `${KEY_OF_RUN}:none`, '>'), {
        key: `${KEY_OF_RUN}:none`,
      }),
  },
  {
    title: 'a script that answers an error with its argument',
    code: 'ERR_REDIS_COMMAND',
    run: ({ layer }) =>
      send(layer, (client) => client.eval("return redis.error_reply('ERR bad ' .. ARGV[1])", 1, KEY_OF_RUN, BODY)),
  },
  {
    title: 'a script that throws its argument',
    code: 'ERR_REDIS_COMMAND',
    run: ({ layer }) => send(layer, (client) => client.eval('error(ARGV[1])', 1, KEY_OF_RUN, BODY)),
  },
  {
    title: 'a command that the user may not run',
    code: 'ERR_REDIS_COMMAND',
    run: (world) =>
      between(
        world.onServers('ACL', 'SETUSER', 'app', '-append'),
        () => send(world.layer, (client) => client.append(KEY_OF_RUN, BODY)),
        () => world.onServers('ACL', 'SETUSER', 'app', '+append'),
      ),
  },
  {
    title: 'a password that is refused',
    code: 'ERR_REDIS_REFUSED',
    run: ({ layer }) => send(layer, (client) => client.call('AUTH', 'nobody', PASSWORD)),
  },
  {
    title: 'no memory',
    code: 'ERR_REDIS_REFUSED',
    run: (world) =>
      between(
        world.onServers('CONFIG', 'SET', 'maxmemory', '1'),
        () => send(world.layer, (client) => client.set(KEY_OF_RUN, BODY)),
        () => world.onServers('CONFIG', 'SET', 'maxmemory', '0'),
      ),
  },
];

const CALLS: Provocation[] = [
  {
    title: 'servers that hang',
    code: 'ERR_REDIS_DEADLINE',
    run: (world) =>
      world.whileFrozen(() => send(world.layer, (client) => client.set(KEY_OF_RUN, BODY), { deadline: 100 })),
  },
  {
    title: 'servers that go on hanging',
    code: 'ERR_REDIS_BREAKER_OPEN',
    run: async (world) => {
      const layer = await world.with({ breaker: { failures: 1 } });
      const call = () => send(layer, (client) => client.set(KEY_OF_RUN, BODY), { deadline: 100 });
      await world.whileFrozen(() => insist('ERR_REDIS_BREAKER_OPEN', call));
    },
  },
  {
    title: 'a caller that aborts',
    code: 'ERR_REDIS_ABORTED',
    run: ({ layer }) => send(layer, (client) => client.set(KEY_OF_RUN, BODY), { signal: AbortSignal.abort() }),
  },
  {
    title: 'a connection that is cut with the call in flight',
    code: 'ERR_REDIS_CONNECTION_LOST',
    run: async (world) => {
      const call = send(world.layer, (client) => client.blpop(`${KEY_OF_RUN}:none`, 0), {
        deadline: 10_000,
        key: `${KEY_OF_RUN}:none`,
      });
      call.catch(() => undefined);
      await until('the call to block', async () => {
        const lists = await Promise.all(world.topology.nodes.map((node) => node.command('CLIENT', 'LIST')));
        return lists.join('').includes('cmd=blpop');
      });
      await world.onServers('CLIENT', 'KILL', 'USER', 'app');
      return call;
    },
  },
  {
    title: 'a connection that is gone',
    code: 'ERR_REDIS_NOT_READY',
    run: (world) =>
      between(
        world.onServers('ACL', 'SETUSER', 'app', 'off').then(() => world.onServers('CLIENT', 'KILL', 'USER', 'app')),
        () => insist('ERR_REDIS_NOT_READY', () => send(world.layer, (client) => client.set(KEY_OF_RUN, BODY))),
        async () => {
          await world.onServers('ACL', 'SETUSER', 'app', 'on');
          await until('the connection', () => send(world.layer, (client) => client.get(KEY_OF_RUN)).then(() => true), {
            timeout: 20_000,
          });
        },
      ),
  },
  {
    title: 'too many calls',
    code: 'ERR_REDIS_OVERLOADED',
    run: async (world) => {
      const layer = await world.with({ pool: { maxInFlight: 1 } });
      await Promise.all([1, 2, 3].map(() => send(layer, (client) => client.set(KEY_OF_RUN, BODY))));
    },
  },
  {
    title: 'too many blocking sockets',
    code: 'ERR_REDIS_OVERLOADED',
    run: async (world) => {
      const layer = await world.with({ pool: { maxBlocking: 1, acquireTimeout: 10 } });
      await layer.withBlocking(() => layer.withBlocking(() => Promise.resolve()));
    },
  },
  {
    title: 'a connection that is closed',
    code: 'ERR_REDIS_CLOSED',
    run: async (world) => {
      const layer = await world.with({});
      await layer.close();
      await send(layer, (client) => client.set(KEY_OF_RUN, BODY));
    },
  },
];

const small = defineStream({ name: 'orders' });
const PATTERNS: Provocation[] = [
  {
    title: 'a cache that cannot be written',
    code: 'ERR_REDIS_DEADLINE',
    run: (world) => world.whileFrozen(() => world.app.get(CacheService).set(['k', KEY], BODY)),
  },
  {
    title: 'a value that cannot be stored',
    code: 'ERR_CODEC',
    run: ({ app }) => app.get(CacheService).set(['k', KEY], { text: BODY, make: () => BODY }),
  },
  {
    title: 'a lock that somebody holds',
    code: 'ERR_LOCK_TIMEOUT',
    names: ['key'],
    run: async ({ app }) => {
      await app.get(LockService).acquire(KEY);
      await app.get(LockService).acquire(KEY);
    },
  },
  {
    title: 'a lock that cannot be asked for',
    code: 'ERR_LOCK_UNAVAILABLE',
    names: ['key'],
    run: (world) => world.whileFrozen(() => world.app.get(LockService).acquire(`${KEY}:2`)),
  },
  {
    title: 'a limit that is exceeded',
    code: 'ERR_RATE_LIMIT_EXCEEDED',
    run: async ({ app }) => {
      const limits = app.get(RateLimitService);
      await limits.consume('tight', SUBJECT);
      throw new RateLimitExceededError(await limits.consume('tight', SUBJECT));
    },
  },
  {
    title: 'a limit that cannot be decided',
    code: 'ERR_RATE_LIMIT_UNAVAILABLE',
    run: (world) => world.whileFrozen(() => world.app.get(RateLimitService).consume('closed', SUBJECT)),
  },
  {
    title: 'a message that may have been published',
    code: 'ERR_STREAM_PUBLISH',
    run: (world) => world.whileFrozen(() => world.app.get(StreamProducer).publish(small, { body: BODY })),
  },
  {
    title: 'a message that is too large',
    code: 'ERR_STREAM_PAYLOAD_TOO_LARGE',
    run: ({ app }) => app.get(StreamProducer).publish(small, { body: BODY.repeat(10) }),
  },
];

/** A new pattern adds its failures here. */
export const PROVOCATIONS: readonly Provocation[] = [...COMMANDS, ...CALLS, ...PATTERNS, ...BOOTS];
