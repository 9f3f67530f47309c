import { sleep } from '../../core/abort.js';
import { backoffDelay } from '../../core/backoff.js';
import type { BlockingLease } from '../../connection/index.js';
import { RedisPatternsError } from '../../core/errors.js';
import { runScript } from '../../scripting/index.js';
import type { WatchedLoop } from '../../telemetry/index.js';
import { leaveScript, releaseScript } from '../scripts.generated.js';
import { StreamDrainedError } from '../stream.errors.js';
import { BlockingSocket, DeadSocketError } from './blocking-socket.js';
import { Claims } from './claim.js';
import { Dispatcher } from './dispatcher.js';
import { Graveyard } from './graveyard.js';
import { Group } from './group.js';
import { Held, HeldEntry } from './held.js';
import { LeaseKeeper } from './lease.js';
import type { Routes } from './routes.js';
import { LagMeter } from './lag-meter.js';
import { newLoop, turned } from './loop.js';
import type { ReaderScope } from './scope.js';
import { Acks } from './settle.js';
import { Troubles, wordOf } from './troubles.js';

const RETRY = { base: 50, max: 5000 };
/** Pause after what only a person can repair. */
const PERSISTENT_PAUSE = 5000;
/** Time that aborted handlers have to end, and the last scripts to run. */
const GRACE = 1000;
const ACK_LIMIT = 2000;

/**
 * Reads one stream for one group, on one blocking socket, and has the handlers run. At least once: an entry is
 * acknowledged after its handler, and until then its lease is renewed, so that nobody else runs it unless we die.
 */
export class StreamReader {
  readonly #stop = new AbortController();
  readonly #held: Held;
  readonly #acks: Acks;
  readonly #group: Group;
  readonly #claims: Claims;
  readonly #leases: LeaseKeeper;
  readonly #graveyard: Graveyard;
  readonly #dispatcher: Dispatcher;
  readonly #troubles: Troubles;
  readonly #lag: LagMeter;
  readonly #loop: WatchedLoop;
  #endWatch: () => void = () => undefined;
  #socket: BlockingSocket | undefined;
  #loops: Promise<unknown> | undefined;
  #draining: Promise<void> | undefined;
  #groupIsKnown = false;
  #mayHaveStrays = false;
  #epoch: number | undefined;
  #failures = 0;
  #becomeReady: () => void = () => undefined;
  /** Resolves when the group exists and the first read begins. */
  readonly ready: Promise<void>;

  constructor(
    private readonly scope: ReaderScope,
    routes: Routes,
  ) {
    const { signal } = this.#stop;
    this.ready = new Promise((resolve) => (this.#becomeReady = resolve));
    this.#held = new Held(scope.options);
    this.#acks = new Acks(scope, this.#held);
    this.#group = new Group(scope, this.#held);
    this.#claims = new Claims(scope, this.#held, (entries) => this.#accept(entries));
    this.#leases = new LeaseKeeper(scope, this.#held);
    this.#graveyard = new Graveyard(scope, this.#held, (entry) => this.#acks.add(entry), signal);
    this.#troubles = new Troubles(scope);
    this.#lag = new LagMeter(scope, () => this.#held.size);
    this.#loop = newLoop(scope);
    const parts = { scope, routes, held: this.#held, acks: this.#acks, graveyard: this.#graveyard };
    const actions = {
      ack: (entry: HeldEntry) => this.#acks.confirmed(entry),
      extend: (entry: HeldEntry) => this.#leases.extend(entry),
      deadLetter: (entry: HeldEntry, reason: string) => this.#graveyard.buryNow(entry, 'handler', reason),
    };
    this.#dispatcher = new Dispatcher({ ...parts, actions });
  }

  /** Begins to read; waits for nothing. Idempotent. */
  start(): void {
    if (this.#loops !== undefined || this.#stop.signal.aborted) return;
    this.#loops = Promise.all([this.#serve(), this.#claims.serve(this.#stop.signal)]);
    this.#leases.start();
    void this.ready.then(() => this.#lag.start());
    this.#endWatch = this.scope.context.telemetry.loops.add(this.#loop);
  }

  /**
   * Stops reading, lets running handlers end (their leases are renewed), and hands over what has not begun. Idempotent.
   *
   * @param timeout milliseconds for the handlers; then they are aborted and have another second
   */
  drain(timeout: number): Promise<void> {
    this.#draining ??= this.#drain(timeout);
    return this.#draining;
  }

  async #drain(timeout: number): Promise<void> {
    this.#dispatcher.stop();
    this.#lag.close();
    this.#endWatch();
    this.#stop.abort(new Error('the reader stops'));
    if (this.#loops === undefined) return;
    await this.#socket?.interrupt();
    await Promise.race([this.#loops, pause(GRACE)]);
    await this.#release();
    if (!(await this.#dispatcher.idleWithin(timeout))) {
      const reason = new StreamDrainedError(this.scope.label, timeout);
      for (const entry of this.#held.values()) if (entry.state === 'running') entry.abort(reason);
      await this.#dispatcher.idleWithin(GRACE);
    }
    await Promise.race([Promise.all([this.#dispatcher.settled(), this.#graveyard.idle()]), pause(GRACE)]);
    await this.#acks.allConfirmed(ACK_LIMIT);
    this.#acks.close();
    await this.#release();
    this.#leases.stop();
    await this.#leave();
  }

  async #serve(): Promise<void> {
    const { signal } = this.#stop;
    const { connection } = this.scope.context;
    while (!signal.aborted) {
      try {
        await connection.withBlocking((lease) => this.#useLease(lease), { signal });
      } catch (error) {
        await this.#recoverFrom(error);
      }
    }
  }

  /** Reads until the reader stops, or the socket is beyond repair. */
  async #useLease(lease: BlockingLease): Promise<void> {
    const { signal } = this.#stop;
    const socket = new BlockingSocket(this.scope, lease);
    this.#socket = socket;
    while (!signal.aborted) {
      await socket.ready(signal);
      try {
        await this.#readOnce(socket);
      } catch (error) {
        if (error instanceof DeadSocketError) {
          this.#troubles.deadSocket();
          socket.reset();
        }
        await this.#recoverFrom(error);
      }
    }
  }

  async #readOnce(socket: BlockingSocket): Promise<void> {
    const { signal } = this.#stop;
    const { prefetch } = this.scope.options;
    if (!this.#groupIsKnown) {
      await this.#group.ensure();
      this.#groupIsKnown = true;
    }
    this.#mayHaveStrays ||= this.#epoch !== undefined && this.#epoch !== socket.epoch;
    this.#epoch = socket.epoch;
    if (this.#mayHaveStrays) {
      await this.#claims.recoverOwn();
      this.#mayHaveStrays = false;
    }
    this.#loop.waiting = true;
    await this.#held.whenRoom(Math.max(1, Math.floor(prefetch / 2)), signal);
    turned(this.#loop, false);
    this.#becomeReady();
    const found = await socket.read(this.#held.room || 1);
    this.#failures = 0;
    turned(this.#loop, true);
    this.#troubles.over();
    const last = found.at(-1);
    if (last === undefined) return;
    this.#group.saw(last.id);
    this.#accept(found.map(({ id, fields }) => new HeldEntry(id, fields, 1, 0, false)));
  }

  #accept(entries: HeldEntry[]): void {
    this.#dispatcher.accept(entries.filter((entry) => this.#held.add(entry)));
  }

  /** Every failure costs a pause, so that no state of Redis makes a reader spin. */
  async #recoverFrom(error: unknown): Promise<void> {
    const { signal } = this.#stop;
    if (signal.aborted) return;
    const word = wordOf(error);
    turned(this.#loop, false);
    // The reply that was lost may have delivered entries.
    this.#mayHaveStrays = true;
    if (isMissing(error)) this.#groupIsKnown = false;
    else if (word === 'READONLY' || word === 'UNBLOCKED') this.#socket?.reset();
    const persistent = this.#troubles.happened(error);
    const ms = persistent ? PERSISTENT_PAUSE : backoffDelay(++this.#failures, RETRY);
    await sleep(ms, signal).catch(() => undefined);
  }

  /** Others may claim at once what is pending for us and neither running nor done. */
  async #release(): Promise<void> {
    const { context, keys, group, consumer, options } = this.scope;
    const kept = this.#held.ids('running', 'acked');
    const args = [group, consumer, 2 * options.lease] as const;
    // Without an answer their leases end by themselves.
    await runScript(context.connection, releaseScript, [keys.stream], [...args, ...kept]).catch(() => undefined);
    for (const entry of this.#held.values()) {
      if (entry.state === 'buffered' || entry.state === 'parked') this.#held.remove(entry);
    }
  }

  async #leave(): Promise<void> {
    const { context, keys, group, consumer } = this.scope;
    const call = runScript(context.connection, leaveScript, [keys.stream, keys.members], [group, consumer]);
    await call.catch(() => undefined);
  }
}

/** The group or the stream is gone. Redis 7.0 says UNBLOCKED for a deleted stream, later ones NOGROUP. */
function isMissing(error: unknown): boolean {
  if (wordOf(error) === 'NOGROUP') return true;
  return (
    !(error instanceof RedisPatternsError) &&
    error instanceof Error &&
    /^UNBLOCKED.*no longer exists/.test(error.message)
  );
}

function pause(ms: number): Promise<void> {
  return sleep(ms);
}
