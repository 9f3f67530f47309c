// @ts-check
import net from 'node:net';
import tls from 'node:tls';

/**
 * A tiny Redis client: the harness has to talk to servers before any package is installed.
 * RESP2 only, one command at a time, no reconnection.
 *
 * @typedef {null | number | string | Error | unknown[]} RespReply
 * @typedef {{ host: string, port: number, tls?: { ca: string }, username?: string, password?: string, timeout?: number }} RespTarget
 */

/** An error reply of the server, such as `NOAUTH ...`. */
export class RespError extends Error {}

const CRLF = Buffer.from('\r\n');

/**
 * Reads one reply from `buffer` at `at`.
 *
 * @param {Buffer} buffer
 * @param {number} at
 * @returns {{ reply: RespReply, next: number } | undefined} undefined while the reply is incomplete
 */
export function parseReply(buffer, at = 0) {
  const end = buffer.indexOf(CRLF, at);
  if (end < 0) return undefined;
  const line = buffer.toString('utf8', at + 1, end);
  const next = end + 2;
  switch (String.fromCharCode(buffer[at] ?? 0)) {
    case '+':
      return { reply: line, next };
    case '-':
      return { reply: new RespError(line), next };
    case ':':
      return { reply: Number(line), next };
    case '$': {
      const length = Number(line);
      if (length < 0) return { reply: null, next };
      if (buffer.length < next + length + 2) return undefined;
      return { reply: buffer.toString('utf8', next, next + length), next: next + length + 2 };
    }
    case '*':
      return parseArray(buffer, next, Number(line));
    default:
      throw new Error(`Not a Redis server: the answer begins with ${JSON.stringify(line.slice(0, 40))}`);
  }
}

/**
 * @param {Buffer} buffer
 * @param {number} at
 * @param {number} count
 */
function parseArray(buffer, at, count) {
  if (count < 0) return { reply: null, next: at };
  /** @type {unknown[]} */
  const items = [];
  let next = at;
  for (let index = 0; index < count; index++) {
    const item = parseReply(buffer, next);
    if (!item) return undefined;
    items.push(item.reply);
    next = item.next;
  }
  return { reply: items, next };
}

/** @param {readonly (string | number)[]} args */
function encode(args) {
  const parts = args.map((arg) => {
    const text = String(arg);
    return `$${Buffer.byteLength(text)}\r\n${text}\r\n`;
  });
  return `*${args.length}\r\n${parts.join('')}`;
}

/** One connection; commands are answered in order. */
export class RespClient {
  /** @type {{ resolve(reply: RespReply): void, reject(error: Error): void }[]} */
  #waiting = [];
  #buffer = Buffer.alloc(0);
  #socket;

  /** @param {net.Socket} socket */
  constructor(socket) {
    this.#socket = socket;
    socket.on('data', (chunk) => this.#read(chunk));
    socket.on('error', (error) => this.#fail(error));
    socket.on('close', () => this.#fail(new Error('The connection was closed')));
  }

  /**
   * @param {...(string | number)} args
   * @returns {Promise<any>} rejects with RespError for an error reply
   */
  command(...args) {
    return new Promise((resolve, reject) => {
      if (this.#socket.destroyed) return reject(new Error('The connection was closed'));
      this.#waiting.push({ resolve, reject });
      this.#socket.write(encode(args));
    });
  }

  close() {
    this.#socket.destroy();
  }

  /** @param {Buffer} chunk */
  #read(chunk) {
    this.#buffer = Buffer.concat([this.#buffer, chunk]);
    try {
      for (let found = parseReply(this.#buffer); found; found = parseReply(this.#buffer)) {
        this.#buffer = this.#buffer.subarray(found.next);
        const waiting = this.#waiting.shift();
        if (found.reply instanceof Error) waiting?.reject(found.reply);
        else waiting?.resolve(found.reply);
      }
    } catch (error) {
      this.#fail(/** @type {Error} */ (error));
      this.#socket.destroy();
    }
  }

  /** @param {Error} error */
  #fail(error) {
    for (const waiting of this.#waiting.splice(0)) waiting.reject(error);
  }
}

/**
 * Connects, authenticates, and gives up after `timeout` milliseconds (2 s by default). The timeout bounds every
 * command as well: a frozen server never answers.
 *
 * @param {RespTarget} target
 * @returns {Promise<RespClient>}
 */
export async function connect(target) {
  const { host, port, timeout = 2000 } = target;
  const socket = target.tls ? tls.connect({ host, port, ca: target.tls.ca }) : net.connect({ host, port });
  socket.setNoDelay(true);
  socket.setTimeout(timeout, () => socket.destroy(new Error(`No answer from ${host}:${port} within ${timeout} ms`)));
  await new Promise((resolve, reject) => {
    socket.once(target.tls ? 'secureConnect' : 'connect', resolve);
    socket.once('error', reject);
    socket.once('close', () => reject(new Error(`${host}:${port} closed the connection`)));
  });
  const client = new RespClient(socket);
  try {
    if (target.password !== undefined) {
      await client.command('AUTH', ...(target.username ? [target.username] : []), target.password);
    }
    return client;
  } catch (error) {
    client.close();
    throw error;
  }
}

/**
 * One command on a connection of its own.
 *
 * @param {RespTarget} target
 * @param {readonly (string | number)[]} args
 * @returns {Promise<any>}
 */
export async function command(target, args) {
  const client = await connect(target);
  try {
    return await client.command(...args);
  } finally {
    client.close();
  }
}

/**
 * The `name:value` lines of an INFO reply.
 *
 * @param {string} text
 * @returns {Record<string, string>}
 */
export function parseInfo(text) {
  /** @type {Record<string, string>} */
  const fields = {};
  for (const line of text.split('\r\n')) {
    const colon = line.indexOf(':');
    if (colon > 0) fields[line.slice(0, colon)] = line.slice(colon + 1);
  }
  return fields;
}
