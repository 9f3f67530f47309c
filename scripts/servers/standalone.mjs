// @ts-check
import { ServerProcess } from './process.mjs';
import { redisLines } from './redis-config.mjs';
import { clientSecurity } from './security.mjs';

/**
 * One server.
 *
 * @param {import('./process.mjs').Runtime} runtime
 * @param {import('./redis-config.mjs').RedisOptions} [options]
 */
export async function startStandalone(runtime, options = {}) {
  const server = await ServerProcess.start(runtime, {
    id: 'redis',
    config: (place) => redisLines(runtime, place, options),
  });
  const { options: security, scheme, login } = clientSecurity(runtime);
  const url = `${scheme}://${login}${server.address}`;
  return {
    mode: /** @type {const} */ ('standalone'),
    url,
    connection: { mode: /** @type {const} */ ('standalone'), host: server.host, port: server.port, ...security },
    nodes: [server],
    sentinels: /** @type {ServerProcess[]} */ ([]),
    masters: async () => [server],
    /** @returns {Promise<ServerProcess>} */
    failover: async () => {
      throw new Error('A standalone server has nothing to fail over to');
    },
  };
}
