import { startTopology, type Mode } from '../../../../../scripts/servers/index.mjs';
import { BODY, PASSWORD } from './marks.js';
import type { Provocation } from './provocation.js';
import type { World } from './world.js';

/** Boots that must fail, with the password in a URL, an option, a function, a key. */
export const BOOTS: Provocation[] = [
  ...(
    [
      ['a wrong password', { password: `${PASSWORD}!` }],
      ['a wrong password from a function', { password: () => `${PASSWORD}!` }],
      ['a password function that fails', { password: () => Promise.reject(new Error(`token ${PASSWORD} is over`)) }],
      ['a wrong password of the Sentinels', { sentinel: { username: 'app', password: `${PASSWORD}!` } }, 'sentinel'],
    ] as [string, object, Mode?][]
  ).map(([title, wrong, only]) => ({
    title: `a boot with ${title}`,
    code: 'ERR_REDIS_CONNECT',
    run: (world: World) => world.boot({ ...world.connection, ...wrong, startup: 'fail-fast' }),
    ...(only && { only }),
  })),
  {
    title: 'a boot with a wrong password in the URL',
    code: 'ERR_REDIS_CONNECT',
    run: (world) => {
      const { topology, connection } = world;
      const url = topology.url.replace(/:[^:/@]+@/, `:${encodeURIComponent(`${PASSWORD}!`)}@`);
      const { sentinel } = connection as { sentinel?: object };
      return world.boot({ url, startup: 'fail-fast', ...(sentinel && { sentinel }) });
    },
  },
  ...['redis://u:', 'redis+cluster://u:', 'redis+sentinel://u:', 'redis+sentinel://u:12/', 'http://u:', 'redis://'].map(
    (begin) => ({
      title: `a URL whose password is not encoded, ${begin}`,
      code: 'ERR_INVALID_OPTIONS',
      // What stands before the first slash may look like a port.
      run: (world: World) =>
        world.boot(`${begin}${begin.endsWith('/') ? PASSWORD.slice(-14) : PASSWORD}@127.0.0.1:6379`),
    }),
  ),
  {
    title: 'a server that knows neither HELLO nor AUTH, and repeats them',
    code: 'ERR_REDIS_CONNECT',
    only: 'standalone',
    run: async (world) => {
      const renamed = { 'rename-command HELLO': '""', 'rename-command AUTH': '""' };
      const { connection, stop } = await startTopology('standalone', { config: renamed });
      try {
        await world.boot({ ...connection, password: PASSWORD, startup: 'fail-fast' });
      } finally {
        await stop();
      }
    },
  },
  {
    title: 'a private key that is none',
    code: 'ERR_INVALID_OPTIONS',
    run: (world) => {
      const tls = { key: `-----BEGIN PRIVATE KEY-----\n${PASSWORD}`, passphrase: PASSWORD };
      return world.boot({ ...world.connection, tls, startup: 'fail-fast' });
    },
  },
  {
    title: 'options of a wrong kind',
    code: 'ERR_INVALID_OPTIONS',
    run: (world) => world.boot({ host: { text: BODY }, passwort: PASSWORD, password: [PASSWORD], db: PASSWORD }),
  },
];
