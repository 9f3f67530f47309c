import { raceSignal, sleep } from '../../core/abort.js';
import { readFigures } from '../figures.js';
import { trimStream } from '../trimming.js';
import type { Held } from './held.js';
import { warn, type ReaderScope } from './scope.js';

/** One member of all looks at the length in that time, milliseconds. */
const TRIM_INTERVAL = 15_000;
const FIGURES_INTERVAL = 5000;

/** What is done for the stream as a whole from time to time: trimming, and telling how far the group has come. */
export class Upkeep {
  readonly #abandoned = new Set<string>();
  #trimAt = performance.now() + TRIM_INTERVAL * Math.random();

  constructor(
    private readonly scope: ReaderScope,
    private readonly held: Held,
  ) {}

  /** From when the group exists until the signal aborts. */
  async serve(ready: Promise<void>, signal: AbortSignal): Promise<void> {
    try {
      await raceSignal(ready, signal);
      for (;;) {
        // What fails has been reported by the gate, and is done next time.
        await this.#tellFigures().catch(() => undefined);
        await sleep(FIGURES_INTERVAL * (0.9 + Math.random() / 5), signal);
        if (performance.now() >= this.#trimAt) await this.#trim().catch(() => undefined);
      }
    } catch {
      // The signal: the reader stops.
    }
  }

  async #tellFigures(): Promise<void> {
    const { context, keys, stream, group } = this.scope;
    if (!context.telemetry.isHeard('lag')) return;
    const figures = await readFigures(context, keys, group);
    if (figures === undefined) return;
    const { name: connection } = context.connection;
    context.telemetry.emit('lag', { connection, stream, group, ...figures, inFlight: this.held.size });
  }

  async #trim(): Promise<void> {
    const { known, abandonAfter, stream } = this.scope;
    this.#trimAt = performance.now() + TRIM_INTERVAL;
    if (known.retention.mode === 'hard') return;
    const { abandoned } = await trimStream(known, { abandonAfter, interval: TRIM_INTERVAL });
    for (const group of abandoned) {
      if (this.#abandoned.has(group)) continue;
      this.#abandoned.add(group);
      warn(
        this.scope,
        'ERR_STREAM_GROUP_ABANDONED',
        `Group '${group}' of stream '${stream}' has had no consumer for longer than 'abandonAfter', so its unfinished entries ` +
          `no longer hold back the trimming. Serve it again, or delete it with StreamAdmin.deleteGroup().`,
      );
    }
  }
}
