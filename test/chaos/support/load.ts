import type { RedisClient, RedisConnection } from '../../../libs/redis-patterns/src/connection/index.js';
import { slotOf } from '../../../libs/redis-patterns/src/keys/index.js';
import { eventually } from '../../support/eventually.js';
import { History, type Outcome } from '../../support/history.js';

/** Rounds of each fault: few in `npm test`, many in `npm run test:chaos`. */
export const LONG = process.env.CHAOS === 'long';

/** Masters of the test Cluster; `shardOf` is the order of their slots, which failovers do not change. */
const SHARDS = 3;
/** Pause of a caller between two writes, milliseconds: a steady load, not one that fills the machine. */
const PACE = 4;
/** How long WAIT waits for replicas, milliseconds. It holds up its whole socket, so it stays well below the deadlines. */
const ACK_TIMEOUT = 100;

/** What a caller was told about one write. */
export interface Write {
  readonly id: string;
  readonly shard: number;
  /** On the clock of `performance.now()`. */
  readonly startedAt: number;
  endedAt: number;
  outcome: Outcome;
  /** Code of the failure, and what Redis said. */
  reason?: string;
  /** Replicas that confirmed it; 0 for writes that nobody asked about. */
  acks: number;
}

/** What became of all writes. */
export interface LoadReport {
  /** Found, although the caller was told that it did not happen. */
  readonly ghosts: readonly string[];
  readonly duplicates: readonly string[];
  /** Acknowledged and not found: what the servers lost. */
  readonly lost: readonly Write[];
  /**
   * For each shard, how long after the fault came the first write after which none was lost, until the next fault;
   * milliseconds.
   */
  backAfter(faultAt: number, nextFaultAt?: number): number[];
}

export interface CallerOptions {
  readonly name: string;
  readonly connection: RedisConnection;
  /** Wait, within the deadline, for a connection that is not ready. */
  readonly wait?: boolean;
  /** Have each write confirmed by up to so many replicas. */
  readonly replicas?: number;
  /** Default: all. */
  readonly shards?: readonly number[];
}

/** Reads a whole list from the server that has it. */
export type ListReader = (key: string, shard: number) => Promise<string[]>;

/** Callers that append unique ids to lists, one list for each caller, and write down what they were told. */
export class Load {
  readonly writes: Write[] = [];
  readonly #history = new History();
  readonly #keys = new Map<string, number>();
  readonly #callers: Promise<void>[] = [];
  #stopped = false;

  constructor(
    private readonly namespace: string,
    readonly shards: number,
  ) {}

  /** Starts one caller for each shard. */
  call(options: CallerOptions): void {
    for (const shard of options.shards ?? Array.from({ length: this.shards }, (_, index) => index)) {
      const key = `${this.namespace}:load:${tagOf(shard, this.shards)}:${options.name}`;
      this.#keys.set(key, shard);
      this.#callers.push(this.#write(key, shard, options));
    }
  }

  /** Waits until every caller has had so many more writes acknowledged. */
  async progress(count = 20, timeout = 30_000): Promise<void> {
    const from = this.writes.length;
    const goal = count * this.#callers.length;
    await eventually(
      () => {
        const done = this.writes.slice(from).filter(({ outcome }) => outcome === 'ok');
        const eachShard = Array.from({ length: this.shards }, (_, shard) =>
          done.some((write) => write.shard === shard),
        );
        return done.length >= goal && eachShard.every(Boolean);
      },
      { timeout, what: `${goal} more writes to be acknowledged` },
    );
  }

  /** Waits until each shard has had a write confirmed by so many replicas: after its start a replica is silent for a second. */
  async replicated(replicas: number): Promise<void> {
    const from = this.writes.length;
    await eventually(
      () => {
        const confirmed = this.writes.slice(from).filter(({ acks }) => acks >= replicas);
        return new Set(confirmed.map(({ shard }) => shard)).size === this.shards;
      },
      { timeout: 30_000, what: `writes to be confirmed by ${replicas} replicas` },
    );
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#callers);
  }

  /** All ids that are in Redis now. `elements` reads one list. */
  async read(elements: ListReader): Promise<string[]> {
    return (await Promise.all([...this.#keys].map(([key, shard]) => elements(key, shard)))).flat();
  }

  /** Compares what the callers were told with what is there. */
  async report(elements: ListReader): Promise<LoadReport> {
    const { lost, ghosts, duplicates } = this.#history.check(await this.read(elements));
    const lostIds = new Set(lost);
    return {
      ghosts,
      duplicates,
      lost: this.writes.filter(({ id }) => lostIds.has(id)),
      backAfter: (faultAt, nextFaultAt = Infinity) =>
        Array.from({ length: this.shards }, (_, shard) => {
          const later = this.writes.filter(
            ({ startedAt, ...write }) => write.shard === shard && startedAt > faultAt && startedAt < nextFaultAt,
          );
          const lastLost = Math.max(0, ...later.filter(({ id }) => lostIds.has(id)).map(({ endedAt }) => endedAt));
          const kept = later.filter((write) => write.outcome === 'ok' && write.startedAt >= lastLost);
          return Math.round(Math.min(...kept.map(({ endedAt }) => endedAt)) - faultAt);
        }),
    };
  }

  async #write(key: string, shard: number, { connection, wait = false, replicas = 0 }: CallerOptions): Promise<void> {
    while (!this.#stopped) {
      const id = this.#history.begin();
      const write: Write = { id, shard, startedAt: performance.now(), endedAt: 0, outcome: 'unknown', acks: 0 };
      try {
        const send = (client: RedisClient): Promise<number> => append(client, key, id, replicas);
        write.acks = await connection.run({ name: 'load.append', effect: 'once', key, wait, send });
        write.outcome = 'ok';
      } catch (error) {
        write.outcome = outcomeOf(error);
        const { code, reply } = error as { code: string; reply?: string };
        write.reason = reply === undefined ? code : `${code} (${reply})`;
      }
      write.endedAt = performance.now();
      this.#history.settle(id, write.outcome);
      this.writes.push(write);
      await new Promise((resolve) => setTimeout(resolve, PACE));
    }
  }
}

/** The outcome that a failure carries, itself or as its cause. Anything else is no failure of Redis: it is thrown. */
export function outcomeOf(error: unknown): Outcome {
  const { outcome, cause } = error as { outcome?: Outcome; cause?: { outcome?: Outcome } };
  const found = outcome ?? cause?.outcome;
  if (found === undefined) throw error;
  return found;
}

/** Writes by outcome and code, for people: `ok 312, unknown ERR_REDIS_DEADLINE 4`. */
export function summary(writes: readonly Write[]): string {
  const counts = new Map<string, number>();
  for (const { outcome, reason } of writes) {
    const kind = reason === undefined ? outcome : `${outcome} ${reason}`;
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  return [...counts].map(([kind, count]) => `${kind} ${count}`).join(', ');
}

/** Prints what was measured: the figures are for people, the bounds are in the expectations. */
export function print(line: string): void {
  process.stderr.write(`[chaos] ${line}\n`);
}

/** The shard of the test Cluster that a key lives in, 0 to 2. */
export function shardOf(key: string): number {
  return Math.floor((slotOf(key) * SHARDS) / 16_384);
}

/** A hash tag in a given shard. */
export function tagOf(shard: number, shards = SHARDS): string {
  for (let n = 0; ; n++) {
    const tag = `{${n}}`;
    if (shards === 1 || shardOf(tag) === shard) return tag;
  }
}

/** Appends, and gives the number of replicas that have it. WAIT goes with the write: it counts what its own socket sent. */
async function append(client: RedisClient, key: string, id: string, replicas: number): Promise<number> {
  if (replicas === 0) {
    await client.rpush(key, id);
    return 0;
  }
  const replies = await client.pipeline().rpush(key, id).wait(replicas, ACK_TIMEOUT).exec();
  const [failure] = replies![0]!;
  if (failure !== null) throw failure;
  const [noAnswer, acks] = replies![1]!;
  return noAnswer === null ? Number(acks) : 0;
}
