// @ts-check
import net from 'node:net';

/** Bytes that may wait in one direction before the sender is made to wait, too. */
const HIGH_WATER = 1024 * 1024;

/** @type {Partial<Record<import('./proxy.mjs').FaultMode, readonly ('up' | 'down')[]>>} */
const DROPPED = { dropUp: ['up'], dropDown: ['down'], drop: ['up', 'down'] };

/** @typedef {{ chunk: Buffer | undefined, due: number }} Held an undefined chunk is the end of the stream */

/** One direction of a connection. */
class Lane {
  /** @type {Held[]} */
  #held = [];
  #bytes = 0;
  #lastDue = 0;
  /** @type {NodeJS.Timeout | undefined} */
  #timer;

  /**
   * @param {ProxyLink} link
   * @param {net.Socket} from
   * @param {net.Socket} to
   * @param {'up' | 'down'} direction
   */
  constructor(link, from, to, direction) {
    this.link = link;
    this.from = from;
    this.to = to;
    this.direction = direction;
    from.on('data', (chunk) => this.#take(chunk));
    from.on('end', () => this.#hold(undefined));
    to.on('drain', () => this.#relieve());
  }

  /** @param {Buffer} chunk */
  #take(chunk) {
    const { proxy } = this.link;
    if (this.link.abandoned) {
      proxy.bytesLost += chunk.length;
    } else if (DROPPED[proxy.mode]?.includes(this.direction)) {
      proxy.bytesLost += chunk.length;
      this.link.spoiled = true;
      if (proxy.options.cut) this.link.cut();
    } else {
      this.#hold(chunk);
    }
  }

  /** @param {Buffer | undefined} chunk */
  #hold(chunk) {
    const { mode, options } = this.link.proxy;
    const delay = mode === 'latency' ? Math.max(0, options.ms + options.jitter * (2 * Math.random() - 1)) : 0;
    // TCP keeps the order, so jitter cannot let a later chunk overtake.
    const due = Math.max(performance.now() + delay, this.#held.length > 0 ? this.#lastDue : 0);
    this.#lastDue = due;
    this.#held.push({ chunk, due });
    this.#bytes += chunk?.length ?? 0;
    if (this.#bytes > HIGH_WATER) this.from.pause();
    this.flush();
  }

  /** Sends on what may go now. */
  flush() {
    if (this.#timer || this.link.abandoned) return;
    while (this.#held.length > 0 && this.link.proxy.mode !== 'blackhole' && !this.link.closed) {
      const head = /** @type {Held} */ (this.#held[0]);
      const wait = head.due - performance.now();
      if (wait > 0) return this.#wake(wait);
      if (this.link.proxy.mode === 'drip' && head.chunk) {
        this.#send(head.chunk.subarray(0, this.link.proxy.options.bytes));
        head.chunk = head.chunk.subarray(this.link.proxy.options.bytes);
        if (head.chunk.length === 0) this.#held.shift();
        return this.#wake(this.link.proxy.options.ms);
      }
      this.#held.shift();
      if (head.chunk) this.#send(head.chunk);
      else this.to.end();
    }
    this.#relieve();
  }

  /** @param {Buffer} chunk */
  #send(chunk) {
    this.#bytes -= chunk.length;
    if (this.direction === 'up') this.link.proxy.bytesUp += chunk.length;
    else this.link.proxy.bytesDown += chunk.length;
    if (!this.to.write(chunk)) this.from.pause();
  }

  /** @param {number} ms */
  #wake(ms) {
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.flush();
    }, ms);
  }

  #relieve() {
    if (this.#bytes <= HIGH_WATER && !this.to.writableNeedDrain) this.from.resume();
  }

  stop() {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#held = [];
  }
}

/** A client's connection and the one to the server that belongs to it. */
export class ProxyLink {
  /** It lost bytes and cannot go on. */
  spoiled = false;
  /** Half-open: this side is silent for ever. */
  abandoned = false;
  closed = false;
  /** @type {net.Socket | undefined} */
  #server;
  /** @type {Lane[]} */
  #lanes = [];
  /** @type {(() => void)[]} */
  #listeners = [];

  /**
   * @param {import('./proxy.mjs').FaultProxy} proxy
   * @param {net.Socket} client paused
   */
  constructor(proxy, client) {
    this.proxy = proxy;
    this.client = client;
    client.on('error', () => this.cut());
    client.on('close', () => this.#close());
    this.modeChanged();
  }

  /** @param {() => void} listener called once, when the connection is gone */
  onEnd(listener) {
    this.#listeners.push(listener);
  }

  /** Lets traffic begin or go on, as far as the mode allows. */
  modeChanged() {
    if (this.closed || this.abandoned) return;
    if (!this.#server && this.proxy.mode !== 'blackhole') this.#open();
    for (const lane of this.#lanes) lane.flush();
  }

  #open() {
    const { host, port } = this.proxy.upstream;
    const server = net.connect({ host, port, noDelay: true, allowHalfOpen: true });
    this.#server = server;
    this.#lanes = [new Lane(this, this.client, server, 'up'), new Lane(this, server, this.client, 'down')];
    server.on('error', () => this.#lostServer());
    server.on('close', (failed) => {
      // An orderly end went through the lane already.
      if (failed) this.#lostServer();
    });
    this.client.resume();
  }

  #lostServer() {
    if (!this.abandoned) this.cut();
  }

  /** The peer vanishes: the server's side is closed, the client's side stays open and mute. */
  abandon() {
    this.abandoned = true;
    for (const lane of this.#lanes) lane.stop();
    this.#server?.destroy();
    // Read on, so that the client can go on writing into the void, and its own end is noticed.
    this.client.on('data', () => {});
    this.client.on('end', () => this.client.destroy());
    this.client.resume();
  }

  /** RST in both directions. */
  cut() {
    reset(this.client);
    if (this.#server) reset(this.#server);
  }

  #close() {
    if (this.closed) return;
    this.closed = true;
    for (const lane of this.#lanes) lane.stop();
    // The orderly case has ended the server's side; what is left (a reset, a destroyed client) is cut.
    if (this.#server && !this.#server.writableEnded) this.#server.destroy();
    for (const listener of this.#listeners) listener();
  }
}

/**
 * RST, unless our side has ended the connection already: the reset of such a socket fails inside of Node.js 20, which then
 * waits for its handle for ever when the process ends.
 *
 * @param {net.Socket} socket
 */
function reset(socket) {
  if (socket.writableEnded) socket.destroy();
  else if (!socket.destroyed) socket.resetAndDestroy();
}
