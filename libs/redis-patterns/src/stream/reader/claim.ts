import { sleep } from '../../core/abort.js';
import { runScript } from '../../scripting/index.js';
import { claimScript, recoverScript } from '../scripts.generated.js';
import { HeldEntry, type Held } from './held.js';
import { warn, type ReaderScope } from './scope.js';

type Described = [id: string, deliveries: number, failures: number, fields: string[]];

const START_CURSOR = '0-0';
/** Calls of one sweep; where it ends the next one goes on. */
const MAX_CALLS = 20;
const PAGE = 100;

/** Takes over what dead consumers left pending, and finds entries of one's own whose delivery was lost on the way. */
export class Claims {
  #cursor = START_CURSOR;

  constructor(
    private readonly scope: ReaderScope,
    private readonly held: Held,
    private readonly accept: (entries: HeldEntry[]) => void,
  ) {}

  /** Sweeps until the signal aborts, every half lease with jitter, and soon after the start. */
  async serve(signal: AbortSignal): Promise<void> {
    const { lease } = this.scope.options;
    let pause = Math.min(1000, lease / 4);
    try {
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
    const { context, keys, group, consumer, options } = this.scope;
    for (let calls = 0; calls < MAX_CALLS; calls++) {
      // Waiting for room gives the sweep its turn also where a backlog keeps the reader full.
      await this.held.whenRoom(1, signal);
      const [cursor, entries, trimmed] = await runScript(
        context.connection,
        claimScript,
        [keys.stream, keys.tries],
        [group, consumer, options.lease, this.#cursor, this.held.room],
      );
      this.#cursor = cursor;
      this.#take(entries, trimmed, true);
      if (cursor === START_CURSOR) return;
    }
  }

  /** A lost reply leaves entries pending for this consumer that it has never seen. */
  async recoverOwn(): Promise<void> {
    const { context, keys, group, consumer } = this.scope;
    for (let from = '-'; ;) {
      const start = from;
      const page = (await context.connection.run({
        name: 'stream.pending',
        effect: 'read',
        key: keys.stream,
        wait: true,
        send: (client) => client.xpending(keys.stream, group, start, '+', PAGE, consumer),
      })) as [id: string, ...unknown[]][];
      const strays = page.map(([id]) => id).filter((id) => !this.held.has(id));
      if (strays.length > 0) {
        const args = [group, consumer, ...strays] as const;
        const [entries, trimmed] = await runScript(
          context.connection,
          recoverScript,
          [keys.stream, keys.tries],
          [...args],
        );
        this.#take(entries, trimmed, false);
      }
      if (page.length < PAGE) return;
      from = `(${page.at(-1)![0]}`;
    }
  }

  #take(found: readonly Described[], trimmed: number, claimed: boolean): void {
    if (trimmed > 0) {
      warn(
        this.scope,
        'ERR_STREAM_TRIMMED',
        `${trimmed} pending entries of ${this.scope.label} had been trimmed from the stream before they were processed; ` +
          `raise its retention.maxLen.`,
      );
    }
    const entries = found.map(([id, deliveries, failures, fields]) => {
      // Delivered once, to us, in a reply that was lost: it has never been started, so that start is its first.
      const redelivered = claimed || deliveries > 1;
      return new HeldEntry(id, fields, deliveries, failures, redelivered);
    });
    this.accept(entries);
  }
}
