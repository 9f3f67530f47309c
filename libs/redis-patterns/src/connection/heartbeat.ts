import type { ClientHandle } from './client-handle.js';

/**
 * Asks a socket that only listens for signs of life, and replaces it when none comes: a half-open one looks exactly like a
 * quiet one, and a timeout of ioredis is armed only by a command.
 */
export class Heartbeat {
  readonly #timer: NodeJS.Timeout;
  #asked = false;

  constructor(
    private readonly handle: ClientHandle,
    /** Milliseconds between two signs of life. */
    interval: number,
    /** Longest time that one may take, milliseconds. */
    private readonly timeout: number,
    /** Called with the time (ms since the epoch) at which an answered sign of life was asked for. */
    private readonly onAnswer?: (askedAt: number) => void,
  ) {
    this.#timer = setInterval(() => this.#beat(), interval).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #beat(): void {
    const { client, epoch } = this.handle;
    if (this.#asked || client.status !== 'ready') return;
    this.#asked = true;
    const timer = setTimeout(() => {
      // Another socket may have taken its place in the meantime.
      if (this.handle.epoch === epoch) this.handle.reset();
    }, this.timeout).unref();
    const askedAt = Date.now();
    const settled = (): void => {
      clearTimeout(timer);
      this.#asked = false;
    };
    client.ping().then(() => {
      settled();
      if (this.handle.epoch === epoch) this.onAnswer?.(askedAt);
    }, settled);
  }
}
