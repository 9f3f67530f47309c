// @ts-check
import { randomInt } from 'node:crypto';
import net from 'node:net';

/** Below the range from which systems draw ports for outgoing connections: a restart finds its port still free. */
const LOWEST = 10_000;
const HIGHEST = 20_000;
/** Redis Cluster's bus listens at this distance. */
export const BUS_OFFSET = 10_000;

/** @param {number} port */
function isFree(port) {
  return new Promise((resolve) => {
    const server = net.createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)));
  });
}

/**
 * A loopback port that is free now. Someone else may take it in the meantime: whoever starts a server on it must
 * be ready to try another one.
 *
 * @param {{ bus?: boolean }} [options] bus: the port of the cluster bus must be free as well
 * @returns {Promise<number>}
 */
export async function freePort({ bus = false } = {}) {
  for (let attempt = 0; attempt < 200; attempt++) {
    const port = randomInt(LOWEST, HIGHEST);
    if ((await isFree(port)) && (!bus || (await isFree(port + BUS_OFFSET)))) return port;
  }
  throw new Error(`No free loopback port between ${LOWEST} and ${HIGHEST}`);
}
