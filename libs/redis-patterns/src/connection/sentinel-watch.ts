import type { Redis, RedisOptions } from 'ioredis';
import { askSentinel } from './ask-sentinel.js';
import { sentinelAuth } from './client-factory.js';
import type { ResolvedConnectionOptions } from './connection.schema.js';

/** Milliseconds between two looks. */
const INTERVAL = 10_000;
/** Longest time for the answer of one Sentinel, milliseconds. */
const TIMEOUT = 500;

/**
 * Compares what the Sentinels call the master now with what they called it when the connection was made. The
 * subscription to `+switch-master` tells faster, but a subscription whose socket is half-open, or that was being renewed
 * at that moment, tells nothing, and the old master goes on accepting writes that will be lost.
 */
export class SentinelWatch {
  #known: string | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Counts beginnings and ends, so that an answer that comes late belongs to nobody. */
  #turn = 0;

  constructor(
    /** How to reach each Sentinel. */
    private readonly sentinels: readonly RedisOptions[],
    private readonly masterName: string,
    private readonly masterChanged: () => void,
    private readonly interval = INTERVAL,
  ) {}

  /** The connection has become ready: its master is the one that counts from now on. */
  async ready(): Promise<void> {
    this.stop();
    const turn = this.#turn;
    const master = await this.#ask();
    if (turn !== this.#turn) return;
    this.#known = master;
    this.#timer = setInterval(() => void this.#look(), this.interval).unref();
  }

  stop(): void {
    this.#turn++;
    clearInterval(this.#timer);
  }

  async #look(): Promise<void> {
    const turn = this.#turn;
    const now = await this.#ask();
    if (now === undefined || turn !== this.#turn) return;
    this.#known ??= now;
    if (this.#known === now) return;
    this.stop();
    this.masterChanged();
  }

  /** What the first Sentinel says that answers. */
  async #ask(): Promise<string | undefined> {
    for (const options of this.sentinels) {
      const ask = (sentinel: Redis) => sentinel.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', this.masterName);
      const address = await askSentinel(options, ask, TIMEOUT);
      if (Array.isArray(address)) return address.join(' ');
    }
    return undefined;
  }
}

/** The watch for a connection that asks Sentinels for its master, else `undefined`. */
export function sentinelWatch(
  options: ResolvedConnectionOptions,
  masterChanged: () => void,
): SentinelWatch | undefined {
  const { topology } = options;
  if (topology.mode !== 'sentinel' || topology.readFrom !== 'master') return undefined;
  const sentinels = topology.sentinels.map((address) => ({ ...address, ...sentinelAuth(options) }));
  return new SentinelWatch(sentinels, topology.name, masterChanged);
}
