import { sleep } from '../../core/abort.js';
import { backoffDelay } from '../../core/backoff.js';
import type { BlockingLease } from '../../connection/index.js';
import type { WatchedLoop } from '../../telemetry/index.js';
import type { StreamTransaction } from '../transaction.js';
import { BlockingSocket, DeadSocketError } from './blocking-socket.js';
import { Claims } from './claim.js';
import { commit } from './commit.js';
import { Dispatcher } from './dispatcher.js';
import { drainReader } from './drain.js';
import { Group } from './group.js';
import { Held } from './held.js';
import { HeldEntry } from './held-entry.js';
import { Lanes } from './lanes.js';
import { LeaseKeeper } from './lease.js';
import { newLoop, turned } from './loop.js';
import { Moves } from './moves.js';
import { Preparation } from './preparation.js';
import { Promoter } from './promoter.js';
import type { Routes } from './routes.js';
import { Runner } from './runner.js';
import { ReaderTracer } from './reader-tracer.js';
import type { ReaderScope } from './scope.js';
import { Acks } from './settle.js';
import { Starts } from './starts.js';
import { Troubles } from './troubles.js';
import { Upkeep } from './upkeep.js';

const RETRY = { base: 50, max: 5000 };
/** Pauses after what only a person can repair, and while others must leave. */
const LONG_PAUSES = { repair: 5000, leave: 1000 };
/** Time for the loops to end. */
const GRACE = 1000;

export type ReaderState = 'idle' | 'connecting' | 'reading' | 'paused' | 'failing' | 'draining' | 'stopped';

/** What a reader is doing. */
export interface ReaderStatus {
  /** `'connecting'` also while Redis does not serve; `'failing'`: somebody must repair what `trouble` says. */
  readonly state: ReaderState;
  /** First word of what Redis answers to its reads, such as `WRONGTYPE`. */
  readonly trouble: string | undefined;
  /** Handlers that run, and entries held in all. */
  readonly running: number;
  readonly held: number;
}

/**
 * Reads one stream for one group, with the retries of the group, on one blocking socket, and has the handlers run. At least
 * once: an entry is acknowledged after its handler, and until then its lease is renewed, so that nobody else runs it unless we
 * die.
 */
export class StreamReader {
  readonly #stop = new AbortController();
  readonly #held: Held;
  readonly #acks: Acks;
  readonly #group: Group;
  readonly #claims: Claims;
  readonly #leases: LeaseKeeper;
  readonly #moves: Moves;
  readonly #promoter: Promoter;
  readonly #upkeep: Upkeep;
  readonly #dispatcher: Dispatcher;
  readonly #troubles: Troubles;
  readonly #loop: WatchedLoop;
  readonly #tracer: ReaderTracer;
  /** With `ordering: 'key'`. */
  readonly #lanes: Lanes | undefined;
  #endWatch: () => void = () => undefined;
  #socket: BlockingSocket | undefined;
  #loops: Promise<unknown> | undefined;
  #draining: Promise<void> | undefined;
  #state: ReaderState = 'idle';
  #groupIsKnown = false;
  #mayHaveStrays = false;
  #retriesWait = false;
  #epoch: number | undefined;
  #failures = 0;
  #becomeReady: () => void = () => undefined;
  #hasJoined: () => void = () => undefined;
  readonly #joined = new Promise<void>((resolve) => (this.#hasJoined = resolve));
  /** Resolves when the group exists and the first read begins. */
  readonly ready: Promise<void>;

  constructor(
    private readonly scope: ReaderScope,
    routes: Routes,
  ) {
    const { signal } = this.#stop;
    this.ready = new Promise((resolve) => (this.#becomeReady = resolve));
    const held = (this.#held = new Held(scope.options, routes.largestBatch, () => this.#dispatcher.pump()));
    const acks = (this.#acks = new Acks(scope, held));
    this.#group = new Group(scope, held);
    this.#lanes = scope.options.ordering === 'key' ? new Lanes(scope, this.#group) : undefined;
    this.#claims = new Claims(scope, held, (entries, sentAt) => this.#accept(entries, sentAt), this.#lanes);
    const leases = (this.#leases = new LeaseKeeper(scope, held));
    this.#promoter = new Promoter(scope, held);
    this.#upkeep = new Upkeep(scope, held);
    const hooks = {
      acknowledge: (entry: HeldEntry) => acks.add(entry),
      retryIsDueIn: (ms: number) => this.#promoter.lookIn(ms),
    };
    const moves = (this.#moves = new Moves(scope, held, hooks, signal));
    this.#troubles = new Troubles(scope);
    this.#loop = newLoop(scope);
    this.#tracer = new ReaderTracer(scope);
    const actions = {
      ack: (entry: HeldEntry) => acks.confirmed(entry),
      extend: (entry: HeldEntry) => leases.extend(entry),
      deadLetter: (entry: HeldEntry, reason: string) => moves.buryNow(entry, 'handler', reason),
      commit: (entry: HeldEntry, transaction: StreamTransaction) => commit(scope, held, entry, transaction),
    };
    const preparation = new Preparation(scope, routes, acks, moves);
    const starts = new Starts(scope, held, acks, moves);
    const runner = new Runner({ scope, held, acks, moves, actions });
    this.#dispatcher = new Dispatcher({ scope, held, acks, preparation, starts, runner, leases });
  }

  get status(): ReaderStatus {
    const trouble = this.#troubles.needsRepair;
    const isUp = this.#state === 'reading' || this.#state === 'connecting';
    const state = !isUp ? this.#state : trouble ? 'failing' : this.#held.paused ? 'paused' : this.#state;
    return { state, trouble, running: this.#held.count('running'), held: this.#held.size };
  }

  /** Begins to read; waits for nothing. Idempotent. */
  start(): void {
    if (this.#loops !== undefined || this.#stop.signal.aborted) return;
    const { signal } = this.#stop;
    this.#state = 'connecting';
    this.#loops = Promise.all([
      this.#serve(),
      this.#claims.serve(this.#joined, signal),
      this.#lanes?.serve(this.#joined, signal),
      this.#upkeep.serve(this.ready, signal),
    ]);
    this.#promoter.start();
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
    this.#state = 'draining';
    this.#dispatcher.stop();
    this.#promoter.stop();
    this.#endWatch();
    this.#stop.abort(new Error('the reader stops'));
    if (this.#loops !== undefined) {
      await this.#socket?.interrupt();
      await Promise.race([this.#loops, sleep(GRACE)]);
      const { scope } = this;
      const [held, acks, moves, claims, lanes] = [this.#held, this.#acks, this.#moves, this.#claims, this.#lanes];
      const [leases, dispatcher] = [this.#leases, this.#dispatcher];
      await drainReader({ scope, held, acks, moves, claims, leases, dispatcher, lanes }, timeout);
    }
    this.#state = 'stopped';
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
    for (let isReady = false; !signal.aborted;) {
      if (!isReady) await socket.ready(signal);
      try {
        await this.#readOnce(socket);
        isReady = true;
      } catch (error) {
        isReady = false;
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
      this.#leases.start();
      this.#hasJoined();
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
    this.#reading();
    const { room } = this.#held;
    // Others may have made room meanwhile.
    if (this.#lanes?.full) await this.#lanes.route();
    const sentAt = performance.now();
    // COUNT is for each of the two streams.
    const found = await socket.read((this.#retriesWait ? Math.ceil(room / 2) : room) || 1, this.#lanes?.full);
    this.#failures = 0;
    turned(this.#loop, true);
    this.#troubles.over();
    this.#retriesWait = false;
    for (const [key, entries] of found) {
      const plane = key === this.scope.planes.main.key ? this.scope.planes.main : this.scope.planes.retries;
      if (entries.length === 0) continue;
      if (plane.isRetry === 1) this.#retriesWait = true;
      else this.#group.saw(entries.at(-1)!.id);
      if (plane.isRetry === 0 && this.#lanes !== undefined) await this.#lanes.route();
      else {
        const held = entries.map(({ id, fields }) => new HeldEntry(plane, id, fields, 1, false, sentAt));
        this.#accept(held, sentAt);
      }
    }
  }

  #reading(): void {
    if (this.#state === 'connecting') this.#state = 'reading';
  }

  /** @param sentAt when they were asked for */
  #accept(entries: HeldEntry[], sentAt: number): void {
    const received = entries.filter((entry) => this.#held.add(entry));
    this.#tracer.received(received, sentAt);
    this.#dispatcher.accept(received);
  }

  /** Every failure costs a pause, so that no state of Redis makes a reader spin. */
  async #recoverFrom(error: unknown): Promise<void> {
    const { signal } = this.#stop;
    if (signal.aborted) return;
    this.#state = 'connecting';
    turned(this.#loop, false);
    // The reply that was lost may have delivered entries.
    this.#mayHaveStrays = true;
    const cure = this.#troubles.happened(error);
    if (cure === 'ensure') this.#groupIsKnown = false;
    if (cure === 'reset') this.#socket?.reset();
    const ms = cure === 'repair' || cure === 'leave' ? LONG_PAUSES[cure] : backoffDelay(++this.#failures, RETRY);
    await sleep(ms, signal).catch(() => undefined);
  }
}
