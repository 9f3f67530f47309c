import { performance } from 'node:perf_hooks';
import { sleep, type Deadline } from '../../core/index.js';
import type { StopReason } from '../doctor.report.js';
import type { KeyQuestion, SampledKey } from '../snapshot.js';
import { isRefusal, reasonOf, type ReadCommand, type ReadOnlyClient } from './read-only-client.js';

export interface SamplePlan {
  readonly databases: readonly { readonly db: number; readonly keys: number }[];
  readonly maxKeys: number;
  readonly deadline: Deadline;
  /** Share of the server's time that may be used, 0 to 1. */
  readonly duty: number;
  /** Milliseconds by which a PING may be slower than at the beginning. */
  readonly latencyGuard: number;
  /** Whether the policy of the server counts accesses (LFU). */
  readonly frequencies: boolean;
  /** Whether the socket leaves idle times alone, so that collections may be counted. */
  readonly noTouch: boolean;
  readonly signal: AbortSignal | undefined;
  readonly progress: (keys: number) => void;
}

export interface NodeSample {
  readonly keys: readonly SampledKey[];
  readonly stoppedBy: StopReason;
  readonly reason: string | undefined;
  readonly denied: ReadonlyMap<KeyQuestion, string>;
}

const BATCH = 100;
/** Below this a collection is not worth counting, bytes. */
const WORTH_COUNTING = 128 * 1024;
/** Names are cut there: a name may have 512 MB. */
const LONGEST_NAME = 512;
/** So many slow PINGs in a row are no accident. */
const SLOW_PINGS = 3;
const COUNTERS: Readonly<Record<string, 'HLEN' | 'LLEN' | 'SCARD' | 'ZCARD' | 'XLEN'>> = {
  hash: 'HLEN',
  list: 'LLEN',
  set: 'SCARD',
  zset: 'ZCARD',
  stream: 'XLEN',
};

/** Thrown where the sampling ends before its end. */
class Stop extends Error {
  constructor(
    readonly why: StopReason,
    message = '',
  ) {
    super(message);
  }
}

/**
 * Looks at keys of one server in the order of their hashes, which from cursor 0 is a random sample. It works for `duty` of
 * the time and sleeps for the rest; its own PING between two batches tells whether the server gets slow.
 */
export class Sampler {
  readonly #keys: SampledKey[] = [];
  readonly #denied = new Map<KeyQuestion, string>();
  #usual = Infinity;
  #slowPings = 0;

  constructor(
    private readonly client: ReadOnlyClient,
    private readonly plan: SamplePlan,
  ) {}

  async run(): Promise<NodeSample> {
    let stoppedBy: StopReason = 'end';
    let reason: string | undefined;
    try {
      for (let n = 0; n < 3; n++) await this.#ping();
      for (const { db, keys } of this.plan.databases) await this.#database(db, keys);
    } catch (error) {
      this.plan.signal?.throwIfAborted();
      if (error instanceof Stop) stoppedBy = error.why;
      else stoppedBy = isRefusal(error as Error) || this.client.lost === undefined ? 'refused' : 'no-answer';
      reason = (error as Error).message || undefined;
    }
    return { keys: this.#keys, stoppedBy, reason, denied: this.#denied };
  }

  /** Each database gets keys by its size. */
  async #database(db: number, size: number): Promise<void> {
    const all = this.plan.databases.reduce((sum, { keys }) => sum + keys, 0);
    const share = Math.max(1, Math.ceil((this.plan.maxKeys * size) / all));
    const first = this.#keys.length;
    // A lone database 0 needs no right to SELECT.
    if (db !== 0 || this.plan.databases.length > 1) await this.#asked('SELECT', db);
    let cursor = '0';
    do {
      this.plan.signal?.throwIfAborted();
      if (this.plan.deadline.expired) throw new Stop('max-time');
      const began = performance.now();
      const [next, names] = (await this.#asked('SCAN', cursor, 'COUNT', BATCH)) as [Buffer, Buffer[]];
      cursor = next.toString();
      await this.#look(names, db);
      this.plan.progress(this.#keys.length);
      const worked = performance.now() - began;
      await this.#guard();
      if (this.#keys.length - first >= share && cursor !== '0') {
        if (this.#keys.length >= this.plan.maxKeys || this.plan.databases.length === 1) throw new Stop('max-keys');
        return;
      }
      if (cursor !== '0') await this.#rest(worked);
    } while (cursor !== '0');
  }

  async #asked(...command: ReadCommand): Promise<unknown> {
    try {
      return await this.client.call(...command);
    } catch (error) {
      throw new Stop(isRefusal(error as Error) ? 'refused' : 'no-answer', reasonOf(error as Error, command[0]));
    }
  }

  async #rest(worked: number): Promise<void> {
    const pause = Math.min(worked * (1 / this.plan.duty - 1), this.plan.deadline.remaining());
    if (pause > 0) await sleep(pause, this.plan.signal);
  }

  async #ping(): Promise<number> {
    const began = performance.now();
    await this.#asked('PING');
    const took = performance.now() - began;
    this.#usual = Math.min(this.#usual, took);
    return took;
  }

  async #guard(): Promise<void> {
    const late = (await this.#ping()) - this.#usual > this.plan.latencyGuard;
    this.#slowPings = late ? this.#slowPings + 1 : 0;
    if (this.#slowPings >= SLOW_PINGS) throw new Stop('latency');
  }

  async #look(names: readonly Buffer[], db: number): Promise<void> {
    if (names.length === 0) return;
    const questions: KeyQuestion[] = [
      'type',
      'pttl',
      'memory',
      ...(this.plan.frequencies ? ['frequency' as const] : []),
    ];
    const open = questions.filter((question) => !this.#denied.has(question));
    const replies = await this.client.pipeline(
      names.flatMap((name) => open.map((question) => QUESTIONS[question](name))),
    );
    const found: SampledKey[] = [];
    names.forEach((name, n) => {
      const answers = new Map(
        open.map((question, at) => [question, this.#answer(question, replies[n * open.length + at])]),
      );
      // It has expired, or was deleted, since SCAN named it.
      if (answers.get('type') === 'none' || answers.get('pttl') === -2) return;
      found.push({
        name: name.subarray(0, LONGEST_NAME).toString(),
        type: (answers.get('type') as string | undefined) ?? 'unknown',
        ttl: answers.get('pttl') as number | undefined,
        bytes: (answers.get('memory') as number | null | undefined) ?? undefined,
        ...(answers.get('frequency') === undefined ? {} : { frequency: answers.get('frequency') as number }),
        length: name.length,
        node: this.client.address,
        db,
      });
    });
    const counted = await this.#count(found, names);
    this.#keys.push(...counted);
  }

  /** A count resets idle times before 7.2; then bytes have to do. */
  async #count(found: SampledKey[], names: readonly Buffer[]): Promise<SampledKey[]> {
    if (!this.plan.noTouch || this.#denied.has('elements')) return found;
    const byName = new Map(names.map((name) => [name.subarray(0, LONGEST_NAME).toString(), name]));
    const big = found.filter(({ type, bytes = 0 }) => bytes > WORTH_COUNTING && COUNTERS[type] !== undefined);
    if (big.length === 0) return found;
    const replies = await this.client.pipeline(big.map(({ type, name }) => [COUNTERS[type]!, byName.get(name)!]));
    const elements = new Map(big.map(({ name }, n) => [name, this.#answer('elements', replies[n])]));
    return found.map((key) => {
      const count = elements.get(key.name);
      return typeof count === 'number' ? { ...key, elements: count } : key;
    });
  }

  /** What is refused once is not asked again. */
  #answer(question: KeyQuestion, reply: unknown): string | number | null | undefined {
    if (!(reply instanceof Error)) return reply as string | number | null;
    if (/^NOPERM|unknown (?:sub)?command/i.test(reply.message)) {
      this.#denied.set(question, reasonOf(reply, NAMES[question]));
    }
    return undefined;
  }
}

const QUESTIONS: Record<KeyQuestion, (name: Buffer) => ReadCommand> = {
  type: (name) => ['TYPE', name],
  pttl: (name) => ['PTTL', name],
  memory: (name) => ['MEMORY USAGE', name],
  frequency: (name) => ['OBJECT FREQ', name],
  elements: (name) => ['HLEN', name],
};
const NAMES: Record<KeyQuestion, string> = {
  type: 'TYPE',
  pttl: 'PTTL',
  memory: 'MEMORY USAGE',
  frequency: 'OBJECT FREQ',
  elements: 'HLEN, LLEN, SCARD, ZCARD or XLEN',
};
