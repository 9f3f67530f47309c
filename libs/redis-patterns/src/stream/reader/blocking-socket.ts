import type { Redis } from 'ioredis';
import { addressOf, type BlockingLease } from '../../connection/index.js';
import { onAbort } from '../../core/abort.js';
import { slotOf } from '../../keys/index.js';
import { readReply, type ReadEntry } from '../message.js';
import type { ReaderScope } from './scope.js';

/** Longest wait for a new connection before the whole client is replaced. */
const RECONNECT_LIMIT = 10_000;
/** Time for a read that was unblocked to bring its reply. */
const UNBLOCK_LIMIT = 500;

/** The read did not come back although its time was over: the socket is dead, only nobody has said so. */
export class DeadSocketError extends Error {}

/** Reads of one reader, on the socket that it has for itself. */
export class BlockingSocket {
  #epochOfId = 0;
  #nodeOfId: Redis | undefined;
  #clientId: number | undefined;
  #reading: Promise<unknown> | undefined;

  constructor(
    private readonly scope: ReaderScope,
    private readonly lease: BlockingLease,
  ) {}

  get epoch(): number {
    return this.lease.epoch;
  }

  /**
   * Waits for the socket.
   *
   * @throws DeadSocketError after 10 s: a fresh client may fare better
   */
  async ready(signal: AbortSignal): Promise<void> {
    const limit = new AbortController();
    const timer = setTimeout(() => limit.abort(new DeadSocketError('no connection')), RECONNECT_LIMIT);
    const stop = onAbort(signal, (reason) => limit.abort(reason));
    try {
      await this.lease.ready(limit.signal, this.scope.keys.stream);
    } finally {
      clearTimeout(timer);
      stop();
    }
  }

  /** Drops the socket, so that the next {@link ready} waits for a new one. */
  reset(): void {
    this.lease.reset();
  }

  /**
   * One XREADGROUP of both streams.
   *
   * @param count most entries of each
   * @param onlyRetries leaves the stream of messages out
   * @returns entries by key
   * @throws DeadSocketError when it overruns its time by more than it may
   */
  async read(count: number, onlyRetries = false): Promise<[key: string, entries: ReadEntry[]][]> {
    const { keys, group, consumer, options } = this.scope;
    const { block } = options;
    await this.#learnClientId();
    const { client } = this.lease;
    const streams = onlyRetries ? [keys.retries, '>'] : [keys.stream, keys.retries, '>', '>'];
    const sent = client.xreadgroup('GROUP', group, consumer, 'COUNT', count, 'BLOCK', block, 'STREAMS', ...streams);
    this.#reading = sent;
    try {
      return readReply(await within(sent, block + Math.max(1000, block / 2)));
    } finally {
      this.#reading = undefined;
    }
  }

  /** Ends a read that waits. By CLIENT UNBLOCK, which loses no reply; else by dropping the socket. */
  async interrupt(): Promise<void> {
    const reading = this.#reading?.catch(() => undefined);
    if (reading === undefined) return;
    if (this.#clientId !== undefined && (await this.#unblock(this.#clientId))) {
      const ended = await within(reading, UNBLOCK_LIMIT).then(
        () => true,
        () => false,
      );
      if (ended) return;
    }
    this.reset();
  }

  async #unblock(clientId: number): Promise<boolean> {
    const { connection } = this.scope.context;
    const address = this.#nodeOfId === undefined ? undefined : addressOf(this.#nodeOfId.options);
    const masters = connection.masters();
    const peer = masters.length === 1 ? masters[0] : masters.find((node) => addressOf(node.options) === address);
    if (peer === undefined) return false;
    try {
      await connection.run({
        name: 'stream.unblock',
        effect: 'idempotent',
        send: () => peer.client('UNBLOCK', clientId),
      });
      return true;
    } catch {
      return false;
    }
  }

  /** The id of the socket on its server, which a blocked socket cannot be asked for. */
  async #learnClientId(): Promise<void> {
    const node = this.#node();
    if (this.#epochOfId === this.lease.epoch && this.#nodeOfId === node) return;
    this.#epochOfId = this.lease.epoch;
    this.#nodeOfId = node;
    this.#clientId = undefined;
    if (node === undefined) return;
    try {
      this.#clientId = await within(node.client('ID'), this.scope.context.connection.commandTimeout);
    } catch (error) {
      // Without the permission to ask, the socket is dropped instead of unblocked.
      if (!(error instanceof Error && /^(NOPERM|ERR)/.test(error.message))) throw error;
    }
  }

  /** In a Cluster: the node that serves the stream, and so has the socket that blocks. */
  #node(): Redis | undefined {
    const { client } = this.lease;
    if (!('slots' in client)) return client;
    const address = client.slots[slotOf(this.scope.keys.stream)]?.[0];
    return client.nodes('master').find((node) => addressOf(node.options) === address);
  }
}

/** The result of a promise by a deadline; a reply that is already in the socket when that is over still counts. */
function within<T>(promise: Promise<T>, ms: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const expire = (): void => reject(new DeadSocketError('no reply by the deadline'));
    const timer = setTimeout(() => setImmediate(() => setImmediate(expire)), ms);
    promise.then(
      (value) => {
        clearTimeout(timer);
        resolve(value);
      },
      (error: unknown) => {
        clearTimeout(timer);
        reject(error as Error);
      },
    );
  });
}
