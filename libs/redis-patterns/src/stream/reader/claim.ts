import { raceSignal, sleep } from '../../core/abort.js';
import { runScript } from '../../scripting/index.js';
import { claimScript, recoverScript } from '../scripts.generated.js';
import type { Held } from './held.js';
import { HeldEntry } from './held-entry.js';
import type { Lanes } from './lanes.js';
import { warnOfTrimmed, type Plane, type ReaderScope } from './scope.js';

type Described = [id: string, deliveries: number, fields: string[]];

const START_CURSOR = '0-0';
/** Calls of one sweep; where it ends the next one goes on. */
const MAX_CALLS = 20;
const PAGE = 100;

/** Takes over what dead consumers left pending, and finds entries of one's own whose delivery was lost on the way. */
export class Claims {
  /** By plane. */
  readonly #cursors: [string, string] = [START_CURSOR, START_CURSOR];

  constructor(
    private readonly scope: ReaderScope,
    private readonly held: Held,
    private readonly accept: (entries: HeldEntry[], sentAt: number) => void,
    private readonly lanes: Lanes | undefined,
  ) {}

  /** Where what this reader holds is pending: with lanes, nothing of the stream itself is held. */
  get planes(): readonly Plane[] {
    const { main, retries } = this.scope.planes;
    return this.lanes === undefined ? [main, retries] : [retries];
  }

  /** Sweeps until the signal aborts, every half lease with jitter, and soon after the group was joined. */
  async serve(joined: Promise<void>, signal: AbortSignal): Promise<void> {
    const { lease } = this.scope.options;
    let pause = Math.min(1000, lease / 4);
    try {
      await raceSignal(joined, signal);
      for (;;) {
        await sleep(pause * (0.75 + Math.random() / 2), signal);
        // The gate has reported what failed; the next sweep tries again.
        await this.sweep(signal).catch(() => undefined);
        pause = lease / 2;
      }
    } catch {
      // The signal: the reader stops.
    }
  }

  /** Goes on where the previous sweep ended, so that no number of living entries hides a dead one behind them. */
  async sweep(signal: AbortSignal): Promise<void> {
    for (const plane of this.planes) await this.#sweepPlane(plane, signal);
  }

  /** A lost reply leaves entries pending for this consumer that it has never seen. */
  async recoverOwn(): Promise<void> {
    const { context, group, consumer } = this.scope;
    await this.lanes?.route();
    for (const plane of this.planes) {
      for await (const strays of this.strays(plane)) {
        const sentAt = performance.now();
        const args = [group, consumer, ...strays] as const;
        const [entries, trimmed] = await runScript(context.connection, recoverScript, [plane.key], [...args]);
        this.#take(plane, entries, trimmed, { claimed: false, sentAt });
      }
    }
  }

  /** What is pending for this consumer and not held, in pages. */
  async *strays(plane: Plane): AsyncIterable<string[]> {
    const { context, group, consumer } = this.scope;
    for (let from = '-'; ;) {
      const start = from;
      const page = (await context.connection.run({
        name: 'stream.pending',
        effect: 'read',
        key: plane.key,
        wait: true,
        send: (client) => client.xpending(plane.key, group, start, '+', PAGE, consumer),
      })) as [id: string, ...unknown[]][];
      const strays = page.map(([id]) => id).filter((id) => this.held.get(plane, id) === undefined);
      if (strays.length > 0) yield strays;
      if (page.length < PAGE) return;
      from = `(${page.at(-1)![0]}`;
    }
  }

  async #sweepPlane(plane: Plane, signal: AbortSignal): Promise<void> {
    const { context, group, consumer, options } = this.scope;
    for (let calls = 0; calls < MAX_CALLS; calls++) {
      // Waiting for room gives the sweep its turn also where a backlog keeps the reader full.
      await this.held.whenRoom(1, signal);
      const sentAt = performance.now();
      const [cursor, entries, trimmed] = await runScript(
        context.connection,
        claimScript,
        [plane.key],
        [group, consumer, options.lease, this.#cursors[plane.isRetry], this.held.room],
      );
      this.#cursors[plane.isRetry] = cursor;
      this.#take(plane, entries, trimmed, { claimed: true, sentAt });
      if (cursor === START_CURSOR) return;
    }
  }

  #take(
    plane: Plane,
    found: readonly Described[],
    trimmed: number,
    { claimed, sentAt }: { claimed: boolean; sentAt: number },
  ): void {
    if (trimmed > 0) warnOfTrimmed(this.scope, trimmed);
    const entries = found.map(([id, deliveries, fields]) => {
      // Delivered once, to us, in a reply that was lost: it has never been started, so that start is its first.
      const redelivered = claimed || deliveries > 1;
      return new HeldEntry(plane, id, fields, deliveries, redelivered, sentAt);
    });
    this.accept(entries, sentAt);
  }
}
