import { startTimer, type Timer } from '../../core/timer.js';
import { runScript } from '../../scripting/index.js';
import { renewScript, tickScript } from '../scripts.generated.js';
import { LeaseLostError } from '../stream.errors.js';
import type { Held } from './held.js';
import type { HeldEntry } from './held-entry.js';
import { membersTtl, warn, type Plane, type ReaderScope } from './scope.js';

const CHUNK = 100;

/** Keeps the leases of everything that is held, running or not, and the sign of life of this consumer. */
export class LeaseKeeper {
  #timer: Timer | undefined;
  #due = 0;
  #started = false;
  #stopped = false;

  constructor(
    private readonly scope: ReaderScope,
    private readonly held: Held,
  ) {}

  /** Ticks every third of the lease, the first time at once. Idempotent. */
  start(): void {
    if (this.#started || this.#stopped) return;
    this.#started = true;
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
    if (!entry.lost) await this.#renew(entry.plane, [entry]);
    if (entry.lost) throw new LeaseLostError(entry.originalId, this.scope.label);
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
    const now = performance.now();
    for (const plane of Object.values(this.scope.planes)) {
      const entries = this.held.of(plane, ({ lost, gone }) => !lost && !gone);
      for (const entry of entries) if (now > entry.slowAt) this.#warnOfSlowness(entry, now);
      for (let from = 0; from < entries.length; from += CHUNK) {
        await this.#renew(plane, entries.slice(from, from + CHUNK));
      }
    }
  }

  async #renew(plane: Plane, entries: readonly HeldEntry[]): Promise<void> {
    const { context, group, consumer } = this.scope;
    const ids = entries.map(({ id }) => id);
    const sentAt = performance.now();
    const [lost, gone] = await runScript(context.connection, renewScript, [plane.key], [group, consumer, ...ids]);
    for (const id of lost) this.#onLost(plane, id);
    for (const id of gone) this.#onGone(plane, id);
    for (const entry of entries) if (!entry.lost) entry.leasedAt = sentAt;
  }

  async #giveSignOfLife(): Promise<void> {
    const { context, keys, group, consumer, options, abandonAfter } = this.scope;
    const { retries, due, dueBody, delayed, delayedBody, lanes, parked, meta } = keys;
    const kept = [
      retries,
      due,
      dueBody,
      delayed,
      delayedBody,
      ...(options.ordering === 'key' ? [lanes, parked, meta] : []),
    ];
    await runScript(
      context.connection,
      tickScript,
      [keys.stream, keys.members, keys.floor, ...kept],
      [group, consumer, options.reapAfter, membersTtl(options.reapAfter), abandonAfter],
    );
  }

  #onLost(plane: Plane, id: string): void {
    const entry = this.held.get(plane, id);
    // What has been settled on the way here is no longer pending for a good reason.
    if (entry === undefined || entry.state === 'acked' || entry.state === 'moving') return;
    entry.lose(this.scope.label);
    // A run goes on to its end, which nobody can force; everything else is dropped.
    if (entry.state !== 'running') this.held.remove(entry);
  }

  #onGone(plane: Plane, id: string): void {
    const entry = this.held.get(plane, id);
    if (entry === undefined || entry.gone) return;
    entry.gone = true;
    warn(
      this.scope,
      'ERR_STREAM_TRIMMED',
      `An entry of ${this.scope.label} was trimmed from the stream while it was being processed; raise its retention.maxLen, ` +
        `or use mode 'safe'.`,
    );
  }

  #warnOfSlowness(entry: HeldEntry, now: number): void {
    entry.slowAt = Infinity;
    const seconds = Math.round((now - entry.startedAt) / 1000);
    const text = `A handler of ${this.scope.label} has been running for ${seconds} s at entry ${entry.originalId} (slowAfter)`;
    warn(this.scope, 'ERR_STREAM_SLOW', text);
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
