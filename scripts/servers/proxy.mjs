// @ts-check
import net from 'node:net';
import { freePort } from './ports.mjs';
import { ProxyLink } from './proxy-link.mjs';

/**
 * What the proxy does to traffic.
 *
 * | mode | new connections | bytes |
 * |---|---|---|
 * | `pass` | accepted | forwarded |
 * | `latency` | accepted | forwarded `ms` (± `jitter`) later, in order, in each direction; from about 2 ms |
 * | `drip` | accepted | forwarded `bytes` at a time, every `ms` |
 * | `refuse` | refused; those that exist are cut | |
 * | `blackhole` | accepted, not answered | held back; delivered when the mode changes, as TCP would after a partition |
 * | `dropUp` | accepted | requests vanish: not applied |
 * | `dropDown` | accepted | requests are applied, replies vanish |
 * | `drop` | accepted | both vanish, and nothing is closed: a partition |
 * | `reset` | cut at once (RST); those that exist, too | |
 * | `halfOpen` | accepted and forwarded | those that exist are dead for ever: no byte, no end; the server sees them close |
 *
 * After `dropUp`, `dropDown` and `drop` a connection misses bytes and cannot go on, so the ones that lost some are cut when the
 * mode changes; with `{ cut: true }` already at the first lost byte.
 *
 * @typedef {'pass' | 'latency' | 'drip' | 'refuse' | 'blackhole' | 'dropUp' | 'dropDown' | 'drop' | 'reset' | 'halfOpen'} FaultMode
 * @typedef {{ ms?: number, jitter?: number, bytes?: number, cut?: boolean }} FaultOptions milliseconds
 */

/** A TCP proxy on the loopback interface whose faults are switched while it runs. */
export class FaultProxy {
  host = '127.0.0.1';
  port = 0;
  /** Bytes that reached the server, and that reached the clients. */
  bytesUp = 0;
  bytesDown = 0;
  /** Bytes that were lost on purpose, in either direction. */
  bytesLost = 0;
  /** Connections accepted so far. */
  accepted = 0;
  /** @type {FaultMode} */
  mode = 'pass';
  /** @type {Required<FaultOptions>} */
  options = { ms: 0, jitter: 0, bytes: 1, cut: false };
  /** @type {Set<ProxyLink>} */
  #links = new Set();
  /** @type {net.Server | undefined} */
  #server;

  /** @param {{ host: string, port: number }} upstream */
  constructor(upstream) {
    this.upstream = upstream;
  }

  /** Connections that exist now. */
  get connections() {
    return this.#links.size;
  }

  get url() {
    return `redis://${this.host}:${this.port}`;
  }

  /**
   * Switches the fault; it has begun when the promise resolves.
   *
   * @param {FaultMode} mode
   * @param {FaultOptions} [options]
   */
  async set(mode, options = {}) {
    const spoiled = [...this.#links].filter((link) => link.spoiled);
    this.mode = mode;
    this.options = { ms: 0, jitter: 0, bytes: 1, cut: false, ...options };
    for (const link of spoiled) link.cut();
    if (mode === 'refuse' || mode === 'reset') this.cut();
    if (mode === 'halfOpen') for (const link of this.#links) link.abandon();
    for (const link of this.#links) link.modeChanged();
    await (mode === 'refuse' ? this.#unlisten() : this.listen());
  }

  /** Cuts every connection that exists now (RST); new ones follow the mode. */
  cut() {
    for (const link of this.#links) link.cut();
  }

  /** Listens, on the same port as before if there was one. */
  async listen() {
    if (this.#server) return;
    const server = net.createServer({ pauseOnConnect: true, allowHalfOpen: true, noDelay: true }, (socket) =>
      this.#accept(socket),
    );
    for (let attempt = 1; ; attempt++) {
      const port = this.port || (await freePort());
      try {
        await listening(server, port, this.host);
        this.port = port;
        break;
      } catch (error) {
        if (this.port || attempt >= 10) throw error;
      }
    }
    server.unref();
    this.#server = server;
  }

  /** The end of the proxy and of all its connections. */
  async close() {
    this.cut();
    await this.#unlisten();
  }

  async #unlisten() {
    const server = this.#server;
    this.#server = undefined;
    // Resolves when the last connection is gone as well; they are all cut.
    if (server) await new Promise((resolve) => server.close(resolve));
  }

  /** @param {net.Socket} socket */
  #accept(socket) {
    this.accepted += 1;
    if (this.mode === 'reset') {
      socket.on('error', () => {});
      socket.resetAndDestroy();
      return;
    }
    const link = new ProxyLink(this, socket);
    this.#links.add(link);
    link.onEnd(() => this.#links.delete(link));
  }
}

/**
 * @param {net.Server} server
 * @param {number} port
 * @param {string} host
 */
function listening(server, port, host) {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, host, exclusive: true }, () => {
      server.off('error', reject);
      resolve(undefined);
    });
  });
}

/**
 * A proxy in front of one server.
 *
 * @param {{ host: string, port: number }} upstream
 * @returns {Promise<FaultProxy>}
 */
export async function startProxy(upstream) {
  const proxy = new FaultProxy({ host: upstream.host, port: upstream.port });
  await proxy.listen();
  return proxy;
}

/**
 * A proxy in front of each server of a topology. `natMap` (ioredis) sends a client that learns the servers' own
 * addresses, from the cluster or from the sentinels, through the proxies.
 *
 * @param {readonly { host: string, port: number }[]} nodes
 */
export async function startProxies(nodes) {
  const proxies = await Promise.all(nodes.map((node) => startProxy(node)));
  return {
    proxies,
    natMap: Object.fromEntries(
      proxies.map(({ upstream, host, port }) => [`${upstream.host}:${upstream.port}`, { host, port }]),
    ),
    /** @param {{ port: number }} node */
    of(node) {
      const proxy = proxies.find(({ upstream }) => upstream.port === node.port);
      if (!proxy) throw new Error(`There is no proxy in front of port ${node.port}`);
      return proxy;
    },
    /**
     * @param {FaultMode} mode
     * @param {FaultOptions} [options]
     */
    async set(mode, options) {
      await Promise.all(proxies.map((proxy) => proxy.set(mode, options)));
    },
    async close() {
      await Promise.all(proxies.map((proxy) => proxy.close()));
    },
  };
}
