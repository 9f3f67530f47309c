import { startTimer, type Timer } from '../../core/timer.js';
import { runScript } from '../../scripting/index.js';
import { renewScript, tickScript } from '../scripts.generated.js';
import { LeaseLostError } from '../stream.errors.js';
import type { Held, HeldEntry } from './held.js';
import { warn, type ReaderScope } from './scope.js';

const CHUNK = 100;
const MEMBERS_TTL = 3_600_000;

/** Keeps the leases of everything that is held, running or not, and the sign of life of this consumer. */
export class LeaseKeeper {
  #timer: Timer | undefined;
  #due = 0;
  #stopped = false;

  constructor(
    private readonly scope: ReaderScope,
    private readonly held: Held,
  ) {}

  /** Ticks every third of the lease, the first time at once. */
  start(): void {
    this.#due = performance.now();
    void this.#tick();
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.clear();
  }

  /**
   * Renews now.
   *
   * @throws LeaseLostError when it belongs to somebody else; RedisUnavailableError when that is not known
   */
  async extend(entry: HeldEntry): Promise<void> {
    if (!entry.lost) await this.#renew([entry.id]);
    if (entry.lost) throw new LeaseLostError(entry.id, this.scope.label);
  }

  #schedule(ms: number): void {
    if (this.#stopped) return;
    this.#due = performance.now() + ms;
    this.#timer = startTimer(ms, () => void this.#tick());
  }

  async #tick(): Promise<void> {
    const { lease } = this.scope.options;
    const late = performance.now() - this.#due;
    if (late > lease / 3) this.#warnOfStall(late);
    // Apart from each other: when Redis is full the sign of life is refused, renewal is not.
    const results = await Promise.allSettled([this.#renewAll(), this.#giveSignOfLife()]);
    const renewed = results[0].status === 'fulfilled';
    this.#schedule(renewed ? (lease / 3) * (0.9 + Math.random() * 0.2) : Math.max(100, lease / 10));
  }

  async #renewAll(): Promise<void> {
    const ids = [...this.held.values()].filter(({ lost, gone }) => !lost && !gone).map(({ id }) => id);
    for (let from = 0; from < ids.length; from += CHUNK) await this.#renew(ids.slice(from, from + CHUNK));
  }

  async #renew(ids: string[]): Promise<void> {
    const { context, keys, group, consumer } = this.scope;
    const [lost, gone] = await runScript(context.connection, renewScript, [keys.stream], [group, consumer, ...ids]);
    for (const id of lost) this.#onLost(id);
    for (const id of gone) this.#onGone(id);
  }

  async #giveSignOfLife(): Promise<void> {
    const { context, keys, group, consumer, options, abandonAfter } = this.scope;
    await runScript(
      context.connection,
      tickScript,
      [keys.stream, keys.members, keys.floor],
      [group, consumer, 2 * options.lease, MEMBERS_TTL, abandonAfter],
    );
  }

  #onLost(id: string): void {
    const entry = this.held.get(id);
    // What has been settled on the way here is no longer pending for a good reason.
    if (entry === undefined || entry.state === 'acked' || entry.state === 'settling') return;
    entry.lost = true;
    entry.abort(new LeaseLostError(id, this.scope.label));
    // A run goes on to its end, which nobody can force; everything else is dropped.
    if (entry.state !== 'running') this.held.remove(entry);
  }

  #onGone(id: string): void {
    const entry = this.held.get(id);
    if (entry === undefined || entry.gone) return;
    entry.gone = true;
    warn(
      this.scope,
      'ERR_STREAM_TRIMMED',
      `An entry of ${this.scope.label} was trimmed from the stream while it was being processed; raise its retention.maxLen.`,
    );
  }

  #warnOfStall(late: number): void {
    const { label, options } = this.scope;
    warn(
      this.scope,
      'ERR_STREAM_LOOP_STALLED',
      `The event loop stood still for ${Math.round(late)} ms, so that ${label} renewed its leases late. Make 'lease' ` +
        `(${options.lease} ms) longer, or await ctx.extend() between long blocks of work.`,
    );
  }
}
