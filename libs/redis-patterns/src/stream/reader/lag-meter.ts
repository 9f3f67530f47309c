import { startTimer, type Timer } from '../../core/timer.js';
import { runScript } from '../../scripting/index.js';
import { lagScript } from '../scripts.generated.js';
import type { ReaderScope } from './scope.js';

/** Milliseconds between two looks. */
const INTERVAL = 15_000;

/** Tells from time to time where a group stands, while somebody listens: one script, and nothing when metrics are read. */
export class LagMeter {
  #timer: Timer | undefined;
  #closed = false;

  constructor(
    private readonly scope: ReaderScope,
    /** Entries that this process holds. */
    private readonly inFlight: () => number,
  ) {}

  /** Looks at once, and then every 15 s. */
  start(): void {
    if (!this.#closed) void this.#look();
  }

  close(): void {
    this.#closed = true;
    this.#timer?.clear();
  }

  async #look(): Promise<void> {
    const { telemetry } = this.scope.context;
    if (telemetry.isHeard('lag')) await this.#measure().catch(() => undefined);
    if (!this.#closed) this.#timer = startTimer(INTERVAL, () => void this.#look());
  }

  async #measure(): Promise<void> {
    const { context, keys, stream, group } = this.scope;
    const [lag, pending, oldestMs] = await runScript(context.connection, lagScript, [keys.stream], [group]);
    context.telemetry.emit('lag', {
      connection: context.connection.name,
      stream,
      group,
      ...(lag < 0 ? {} : { lag }),
      pending,
      oldestMs,
      inFlight: this.inFlight(),
    });
  }
}
