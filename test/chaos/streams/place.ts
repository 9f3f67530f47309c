import { openStreams, type TestStreams } from '../../integration/stream/test-streams.js';
import { startProgram, type Program } from '../../support/child-process.js';
import { eventually } from '../../support/eventually.js';
import { RedisAdmin } from '../../support/redis-admin.js';
import { connectAdmin, startOwn, startProxies, type Mode, type Topology } from '../../support/topologies.js';
import { REPLICAS } from '../failover/failover.js';
import { tagOf } from '../support/load.js';
import { Account, type DeadMessage } from './account.js';
import { Publishers } from './publishers.js';
import { clock, GROUPS, type Begun, type Body, type Ended, type WorkerSetup } from './records.js';

export const LEASE = 1000;
export const ATTEMPTS = 2;
const WORKERS = 3;
const NAMESPACE = 'chaos';
/** In the first shard of a Cluster, which `primary` serves. */
export const STREAM = tagOf(0, 3);
export const STREAM_KEY = `${NAMESPACE}:stream:${STREAM}`;

type Fleet = Awaited<ReturnType<typeof startProxies>>;

/** One stream on servers of its own, its publishers, its consumers, and the account of both. */
export class Place {
  readonly account = new Account();
  readonly publishers: Publishers;
  readonly #programs: Program[] = [];
  /** Programs that consume and have not been stopped or told to end. */
  readonly #workers = new Set<Program>();
  /** What goes on while the next fault happens. */
  readonly #background: Promise<unknown>[] = [];
  readonly #read = { begun: 0, ended: 0 };
  #reading: Promise<void> = Promise.resolve();

  private constructor(
    readonly own: Topology,
    readonly fleet: Fleet,
    readonly admin: RedisAdmin,
    private readonly log: RedisAdmin,
    private readonly streams: TestStreams,
    private readonly setup: WorkerSetup,
  ) {
    const replicas = REPLICAS[own.mode];
    this.publishers = new Publishers(streams.producer, STREAM, this.account.published, replicas);
  }

  static async open(mode: Mode, closing: (() => Promise<unknown> | void)[]): Promise<Place> {
    const own = await startOwn(mode, { user: 'stream', ...(mode === 'standalone' && { persistence: 'aof' }) });
    closing.push(() => own.stop());
    const logServer = await startOwn('standalone');
    closing.push(() => logServer.stop());
    const fleet = await startProxies(own.nodes);
    closing.push(() => fleet.close());
    const [admin, log] = await Promise.all([connectAdmin(own), connectAdmin(logServer)]);
    closing.push(() => (admin.close(), log.close()));
    const { connection, options } = throughProxies(own, fleet);
    const streams = await openStreams(connection, NAMESPACE, {}, options);
    closing.push(() => streams.close());
    const retry = { attempts: ATTEMPTS, backoff: { base: 5, max: 50 } };
    const reader = { lease: LEASE, block: 200, concurrency: 10, retry };
    const setup = { connection, options, namespace: NAMESPACE, stream: STREAM, log: logServer.connection, reader };
    const place = new Place(own, fleet, admin, log, streams, setup);
    closing.push(() => Promise.all(place.#programs.map((program) => program.kill())));
    closing.push(() => place.publishers.stop());
    await Promise.all(Array.from({ length: WORKERS }, () => place.startWorker()));
    return place;
  }

  async startWorker(): Promise<void> {
    const program = startProgram(new URL('./programs/worker.ts', import.meta.url), { data: this.setup });
    this.#programs.push(program);
    await program.next('ready', { timeout: 60_000 });
    this.#workers.add(program);
  }

  /** Takes a worker out of those that faults may choose, when another one is left. */
  async takeWorker(): Promise<Program> {
    const [worker] = await eventually(() => (this.#workers.size > 1 ? [...this.#workers] : (false as never)), {
      timeout: 60_000,
      what: 'two workers that run',
    });
    this.#workers.delete(worker!);
    return worker!;
  }

  /** Ends a worker; another one starts in its place. */
  async replace(end: (program: Program) => Promise<unknown>): Promise<void> {
    const worker = await this.takeWorker();
    await end(worker);
    this.account.exceptions.deaths.set(worker.pid, clock());
    this.later(this.startWorker());
  }

  /** Stops a worker for longer than its lease. Others take over what it holds; what it does when it wakes changes nothing. */
  async stop(): Promise<void> {
    const worker = await this.takeWorker();
    const span = { pid: worker.pid, from: clock(), to: Infinity };
    this.account.exceptions.stops.push(span);
    await worker.kill('SIGSTOP');
    const wake = async (): Promise<void> => {
      await eventually(() => clock() > span.from + 2 * LEASE, { timeout: 60_000 });
      await worker.kill('SIGCONT');
      await this.more(50);
      span.to = clock();
      this.#workers.add(worker);
    };
    this.later(wake());
  }

  /** Has something go on during the next faults; its failure fails {@link settled}. */
  later(work: Promise<unknown>): void {
    work.catch(() => undefined);
    this.#background.push(work);
  }

  /** Resolves when nothing goes on any more. */
  async settled(): Promise<void> {
    await Promise.all(this.#background.splice(0));
  }

  /** Resolves when so many more messages have been published and, in each group, run. */
  async more(count: number, timeout = 30_000): Promise<void> {
    const from = clock();
    const { runs, published } = this.account;
    const known = runs.length;
    await eventually(
      async () => {
        await this.readRuns();
        const later = runs
          .slice(known)
          .filter(({ id, attempt }) => attempt === 1 && (published.get(id)?.startedAt ?? 0) > from);
        return GROUPS.every((group) => later.filter((run) => run.group === group).length >= count);
      },
      { timeout, interval: 50, what: `${count} more messages to be run in each group` },
    );
  }

  /** Waits until all replicas have caught up. @returns a time: what was answered before it, no failover may lose */
  caughtUp(): Promise<number> {
    const key = `${NAMESPACE}:probe:${STREAM}`;
    const replicas = REPLICAS[this.own.mode];
    return eventually(
      async () => {
        const from = clock();
        const replies = await this.admin.client.pipeline().set(key, '1', 'PX', 1000).wait(replicas, 1000).exec();
        const [failure, confirmed] = replies![1]!;
        if (failure !== null || Number(confirmed) < replicas)
          throw failure ?? new Error(`${String(confirmed)} replicas`);
        return from;
      },
      { timeout: 60_000, what: 'all replicas to have caught up' },
    );
  }

  /** Takes down what the workers have written since the last time; one reading after the other. */
  readRuns(): Promise<void> {
    this.#reading = this.#reading.then(() => this.#readOn());
    return this.#reading;
  }

  async deadLetters(): Promise<DeadMessage[]> {
    const all = await Promise.all(
      GROUPS.map(async (group) => {
        const letters = await this.admin.client.xrange(`${NAMESPACE}:stream~dlq:${STREAM_KEY}:${group}`, '-', '+');
        return letters.map(([, fields]) => {
          const value = (name: string): string => fields[fields.indexOf(name) + 1]!;
          return { group, id: (JSON.parse(value('data')) as Body).id, reason: value('x-dlq-reason') };
        });
      }),
    );
    return all.flat();
  }

  /** Payload ids of all entries that stand in the stream, those of retries not among them. */
  async entries(): Promise<Map<string, string[]>> {
    const found = new Map<string, string[]>();
    for (const [entry, fields] of await this.admin.client.xrange(STREAM_KEY, '-', '+')) {
      const { id } = JSON.parse(fields[fields.indexOf('data') + 1]!) as Body;
      found.set(id, [...(found.get(id) ?? []), entry]);
    }
    return found;
  }

  /** Keys without an end; the stream itself is bounded by its retention. */
  async endless(): Promise<string[]> {
    const keys = (await this.admin.keys(`${NAMESPACE}:*`)).filter((key) => key !== STREAM_KEY);
    const ttls = await Promise.all(keys.map((key) => this.admin.client.pttl(key)));
    return keys.filter((_, n) => ttls[n] === -1);
  }

  pending(): Promise<(number | undefined)[]> {
    return Promise.all(GROUPS.map(async (group) => (await this.streams.admin.pending(STREAM, group))?.count));
  }

  /** Workers that ended although nobody ended them: of an unhandled rejection, for example. */
  crashes(): string[] {
    return this.#programs
      .filter(({ running, pid }) => !running && !this.account.exceptions.deaths.has(pid))
      .map(({ output }) => output);
  }

  async #readOn(): Promise<void> {
    // Ends first: each has its beginning in what is read afterwards.
    const ended = await this.#tail<Ended>('ended');
    this.account.add(await this.#tail<Begun>('begun'), ended);
  }

  async #tail<T>(list: 'begun' | 'ended'): Promise<T[]> {
    const texts = await this.log.client.lrange(list, this.#read[list], -1);
    this.#read[list] += texts.length;
    return texts.map((text) => JSON.parse(text) as T);
  }
}

/** Sentinels name the servers themselves: those are reached directly. */
function throughProxies(
  { mode, connection, nodes, users }: Topology,
  fleet: Fleet,
): Pick<WorkerSetup, 'connection' | 'options'> {
  const addresses = nodes.map((node) => fleet.of(node)).map(({ host, port }) => ({ host, port }));
  if (mode === 'standalone') return { connection: { mode, ...users?.app, ...addresses[0]! }, options: {} };
  if (mode === 'sentinel') return { connection, options: {} };
  return {
    connection: { ...connection, mode, nodes: addresses },
    options: { ioredis: { natMap: fleet.natMap } },
  };
}
