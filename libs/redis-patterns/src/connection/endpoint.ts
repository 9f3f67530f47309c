import type { Writable } from 'node:stream';
import type { Redis } from 'ioredis';
import { Breaker, type BreakerLimits } from './breaker.js';
import { classify } from './classify.js';
import { addressOf } from './connection-url.js';
import type { RedisClient } from './redis-connection.js';

/** Of the commands under way an eighth goes out with one system call, but not fewer or more than these. */
const FEWEST = 4;
const MOST = 16;

/** Whether a call can be sent now, and if not, why. */
export type Readiness = 'ready' | 'not-ready' | 'breaker-open';

/** Where commands are written to. */
export interface Endpoint {
  /** What sends there; in a Cluster the client of the whole. */
  readonly client: RedisClient;
  readonly readiness: Readiness;
  readonly breaker: Breaker | undefined;
  /** Calls that were written here and still owe a reply. */
  inFlight: number;
  /** Bytes that wait for the operating system to take them. */
  readonly bufferedBytes: number;
  /** Holds back what is written in this turn of the event loop, to write many commands with one system call. */
  cork(): void;
  /** The server said that it does not serve this key now. */
  misrouted(): void;
}

export interface EndpointListeners {
  readonly breaker: BreakerListener;
  readonly misrouted?: () => void;
}

export type BreakerListener = (state: 'open' | 'closed', node: string) => void;

/** One socket (in a Cluster there is one for each node), with its breaker and its load. */
export class SocketEndpoint implements Endpoint {
  inFlight = 0;
  /** Set while the socket is connected, but not to what it was told to, such as another database. */
  unusable = false;
  readonly breaker: Breaker | undefined;
  #corked = false;
  #gathered = 0;

  constructor(
    readonly client: RedisClient,
    readonly redis: Redis,
    limits: BreakerLimits | false,
    private readonly listeners: EndpointListeners,
  ) {
    if (limits === false) return;
    const breaker = new Breaker(
      limits,
      () => this.#ping(),
      (state) => listeners.breaker(state, addressOf(redis.options)),
    );
    redis.on('ready', () => breaker.probe());
    this.breaker = breaker;
  }

  /** `host:port`. */
  get address(): string {
    return addressOf(this.redis.options);
  }

  get readiness(): Readiness {
    if (this.redis.status !== 'ready' || this.unusable) return 'not-ready';
    return this.breaker?.isOpen === true ? 'breaker-open' : 'ready';
  }

  get bufferedBytes(): number {
    return this.#stream?.writableLength ?? 0;
  }

  /** A system call for each command is most of what a command costs; order, replies and errors stay those of each one. */
  cork(): void {
    const stream = this.#stream;
    if (stream === undefined) return;
    if (this.#corked) {
      // So many are cheap enough, and the server begins with them while more are made: else one would wait for the other, in turns.
      if (++this.#gathered < Math.min(MOST, Math.max(FEWEST, this.inFlight >> 3))) return;
      this.#gathered = 0;
      stream.uncork();
      stream.cork();
      return;
    }
    this.#corked = true;
    this.#gathered = 0;
    stream.cork();
    process.nextTick(() => {
      this.#corked = false;
      stream.uncork();
    });
  }

  misrouted(): void {
    this.listeners.misrouted?.();
  }

  get #stream(): Writable | undefined {
    return (this.redis as unknown as { stream?: Writable }).stream;
  }

  async #ping(): Promise<boolean> {
    if (this.redis.status !== 'ready') return false;
    try {
      await this.redis.ping();
      return true;
    } catch (error) {
      // A server that refuses is there; what its refusal means is for the calls to find out.
      return classify(error).outcome === 'refused';
    }
  }
}
