import { raceSignal, sleep } from '../../core/abort.js';
import { runScript } from '../../scripting/index.js';
import { mendScript, routeScript } from '../scripts.generated.js';
import type { Group } from './group.js';
import { warnOfTrimmed, type ReaderScope } from './scope.js';

/** Entries of one call. */
const LIMIT = 100;

/**
 * Order by key, for a reader that has it. What the stream delivers is not run: it goes to the lane of its key, and only the
 * message whose turn it is comes back, as an entry of the retries, to whichever consumer is free. Who is done with it gives
 * the next one its turn, in the script that says so. So of one key nothing is held twice, a failed attempt keeps its place,
 * and no consumer owns a key: one that dies holds up the keys that it was running, and those only until its leases end.
 */
export class Lanes {
  #waiting = 0;

  constructor(
    private readonly scope: ReaderScope,
    private readonly group: Group,
  ) {}

  /** Whether so much waits that no more is to be taken from the stream; as far as was known when it was last looked at. */
  get full(): boolean {
    return this.#waiting >= this.scope.options.maxParked;
  }

  /** Looks every half lease, with jitter, for what a reader that died has left undone; until the signal aborts. */
  async serve(joined: Promise<void>, signal: AbortSignal): Promise<void> {
    const { lease } = this.scope.options;
    try {
      await raceSignal(joined, signal);
      for (;;) {
        // The gate has reported what failed; the next look tries again.
        await this.group.join().catch(() => undefined);
        await this.#mend().catch(() => undefined);
        await sleep((lease / 2) * (0.75 + Math.random() / 2), signal);
      }
    } catch {
      // The signal: the reader stops.
    }
  }

  /** As {@link route}, and repairs lanes whose message was deleted by hand. */
  async #mend(): Promise<void> {
    if ((await this.route()) <= 0) return;
    const { context, keys } = this.scope;
    await runScript(context.connection, mendScript, [keys.retries, keys.dueBody, keys.lanes, keys.parked], []);
  }

  /**
   * Puts everything that was delivered, to whomever, into its lane. Also looks at how much waits.
   *
   * @returns above 0 when lanes have lost the message whose turn it is
   */
  async route(): Promise<number> {
    const { context, keys, group, abandonAfter } = this.scope;
    for (;;) {
      const [routed, waiting, trimmed, orphans] = await runScript(
        context.connection,
        routeScript,
        [keys.stream, keys.retries, keys.due, keys.lanes, keys.parked],
        [group, LIMIT, abandonAfter],
      );
      this.#waiting = waiting;
      if (trimmed > 0) warnOfTrimmed(this.scope, trimmed);
      if (routed < LIMIT) return orphans;
    }
  }
}
