import type { Socket } from 'node:net';
import type { Redis } from 'ioredis';

/** Looks that a socket may be silent for; between the first two the command may only just have been sent. */
const LOOKS = 5;

/** What ioredis keeps to itself. */
interface Insides {
  readonly stream?: Socket;
  readonly commandQueue: { readonly length: number };
}

/**
 * Replaces a socket that owes a reply and has been silent for `limit`, or a quarter longer. The `socketTimeout` of ioredis does so
 * with a timer and a listener for each command, which a lone caller feels; this looks from time to time. After a stall of this
 * process there is one look, not many, so that what has come meanwhile is read before anything is concluded.
 */
export class SilenceWatch {
  readonly #redis: Redis & Insides;
  #timer: NodeJS.Timeout | undefined;
  #bytesRead = 0;
  #silentLooks = 0;

  constructor(
    redis: Redis,
    /** Milliseconds. */
    private readonly limit: number,
  ) {
    this.#redis = redis as Redis & Insides;
    redis.on('connect', () => this.#start());
    redis.on('close', () => this.#stop());
    redis.on('end', () => this.#stop());
  }

  #start(): void {
    this.#stop();
    this.#bytesRead = 0;
    this.#silentLooks = 0;
    this.#timer = setInterval(() => this.#look(), this.limit / (LOOKS - 1)).unref();
  }

  #stop(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    const { stream, commandQueue } = this.#redis;
    if (stream === undefined) return;
    const isSilent = commandQueue.length > 0 && stream.bytesRead === this.#bytesRead;
    this.#bytesRead = stream.bytesRead;
    this.#silentLooks = isSilent ? this.#silentLooks + 1 : 0;
    if (this.#silentLooks < LOOKS) return;
    this.#stop();
    stream.destroy(new Error(`the server owes a reply, and has been silent for ${this.limit} ms`));
  }
}
