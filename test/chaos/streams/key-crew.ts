import { neverRun, outOfOrder, type KeyRun } from '../../integration/stream/key-order.js';
import { openStreams, type TestStreams } from '../../integration/stream/test-streams.js';
import { startProgram, type Program } from '../../support/child-process.js';
import { eventually } from '../../support/eventually.js';
import type { PlainConnection, SharedTopology } from '../../support/topologies.js';
import type { KeyBody, KeyWorkerSetup } from './programs/in-order.js';
import { clock } from './records.js';

export const LEASE = 1000;
export const ATTEMPTS = 2;
const KEYS = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
const PATIENCE = { timeout: 60_000, interval: 20 };

const isHopeless = (seq: number): boolean => seq % 20 === 11;

/** Processes that consume one stream in order of keys, and the account of what they have run. */
export class KeyCrew {
  /** Messages by key; their numbers begin at 0. */
  readonly published = new Map<string, number>();
  readonly #programs: Program[] = [];
  /** When processes were killed. */
  readonly #deaths = new Map<number, number>();
  /** Processes that stood still for longer than their lease, and when they went on. */
  readonly #stops = new Map<number, number>();

  private constructor(
    readonly streams: TestStreams,
    private readonly connection: PlainConnection,
  ) {}

  /** @param through how the processes reach Redis; else as the spec does */
  static async gather(topology: SharedTopology, through = topology.connection): Promise<KeyCrew> {
    return new KeyCrew(await openStreams(topology.connection, await topology.newNamespace()), through);
  }

  async start(reader: object = {}): Promise<Program> {
    const retry = { attempts: ATTEMPTS, backoff: { base: 5, max: 20 } };
    const { namespace } = this.streams;
    const options = { lease: LEASE, block: 200, concurrency: 4, prefetch: 4, retry, ...reader };
    const data: KeyWorkerSetup = { connection: this.connection, namespace, reader: options };
    const program = startProgram(new URL('./programs/in-order.ts', import.meta.url), { data });
    this.#programs.push(program);
    await program.next('ready', { timeout: 60_000 });
    return program;
  }

  /** The next message of a key. */
  async publish(key: string, more: Partial<KeyBody> = {}): Promise<void> {
    const seq = this.published.get(key) ?? 0;
    this.published.set(key, seq + 1);
    await this.streams.producer.publish('s', { key, seq, ...more }, { key });
  }

  /** Publishes until it is told to stop, each key in its order; some messages fail once, some always. */
  publishOn(): () => Promise<unknown> {
    let stopped = false;
    const loops = KEYS.map(async (key) => {
      for (let seq = 0; !stopped; seq++) {
        await this.publish(key, isHopeless(seq) ? { fails: 9 } : seq % 6 === 2 ? { fails: 1 } : {});
        await new Promise((resolve) => setTimeout(resolve, 25));
      }
    });
    return () => {
      stopped = true;
      return Promise.all(loops);
    };
  }

  async kill(program: Program): Promise<void> {
    await program.kill();
    this.#deaths.set(program.pid, clock());
  }

  async wake(program: Program): Promise<void> {
    this.#stops.set(program.pid, clock());
    await program.kill('SIGCONT');
  }

  runs(programs: readonly Program[] = this.#programs): (KeyRun & { aborted: boolean })[] {
    return programs.flatMap((program) => {
      const ends = new Map(program.received('end').map((end) => [end.run, end]));
      const woken = this.#stops.get(program.pid);
      return program.received('begin').map((begun) => {
        const { run, key, seq, from } = begun as never as { run: number; key: string; seq: number; from: number };
        const end = ends.get(run);
        const to = (end?.to as number | undefined) ?? this.#deaths.get(program.pid) ?? Infinity;
        // Nobody can end the run that a process was in when it was stopped, or when the machine did not let it go on.
        const isLate = KEYS.includes(key) && to < Infinity && to - from > LEASE / 2;
        const excused = isLate || (woken !== undefined && from < woken && to > woken);
        return { key, seq, owner: `${program.pid}`, from, to, excused, aborted: end?.aborted === true };
      });
    });
  }

  /** Resolves when so many more runs have begun. */
  async more(count: number): Promise<void> {
    const known = this.runs().length;
    await eventually(() => this.runs().length >= known + count, { ...PATIENCE, what: `${count} more runs` });
  }

  /** What is wrong with what has been run, once nothing is left to do. */
  async verdict(): Promise<string[]> {
    const { admin } = this.streams;
    await eventually(async () => {
      const figures = await admin.lag('s', 'g');
      if (figures?.lag !== 0 || figures.pending + figures.retries > 0) throw new Error(JSON.stringify(figures));
    }, PATIENCE);
    const runs = this.runs();
    const open = runs.filter(({ to }) => to === Infinity).map(({ key, seq }) => `${key} ${seq} has not ended`);
    const crashed = this.#programs
      .filter(({ running, pid, ending }) => !running && !this.#deaths.has(pid) && ending?.code !== 0)
      .map(({ output }) => output);
    const buried = await this.#wronglyBuried();
    return [...outOfOrder(runs), ...neverRun(runs, this.published), ...open, ...crashed, ...buried];
  }

  /** Dead letters that are none, none of what ought to be one, and several of one message. */
  async #wronglyBuried(): Promise<string[]> {
    const letters = await this.streams.admin.deadLetters('s', 'g').list({ limit: 10_000 });
    const counts = new Map<string, number>();
    for (const { key, body } of letters) {
      const name = `${key} ${(body as KeyBody).seq}`;
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
    const all = [...this.published].flatMap(([key, count]) =>
      Array.from({ length: count }, (_, seq) => ({
        name: `${key} ${seq}`,
        due: KEYS.includes(key) && isHopeless(seq),
      })),
    );
    return all
      .filter(({ name, due }) => (counts.get(name) ?? 0) !== (due ? 1 : 0))
      .map(({ name }) => `${name} has ${counts.get(name) ?? 0} dead letters`);
  }

  async dismiss(): Promise<void> {
    await Promise.all(this.#programs.map((program) => program.kill()));
    await this.streams.close();
  }
}
