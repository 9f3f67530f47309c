import { Lateness } from './faults-lateness.js';

/** One kind of call that the application makes again and again. */
export interface Kind {
  readonly name: string;
  readonly callers: number;
  /** Milliseconds by which a call must have settled. */
  readonly deadline: number;
  /** Nothing waits for a connection: while there is none, such a call must fail without delay. */
  readonly atOnce?: boolean;
  /** Makes one call; gives what its success was like, for the tally. `turn` counts the calls of this caller from 0. */
  call(caller: number, turn: number): Promise<string>;
}

/** How often each kind of call ended in each way, such as `{ once: { ok: 12, 'not-sent ERR_REDIS_NOT_READY': 3 } }`. */
export type Tally = Record<string, Record<string, number>>;

export interface LoadReport {
  readonly tally: Tally;
  /** What must never happen: calls that were late, wrong answers, errors of no known kind. */
  readonly violations: string[];
  /** Calls that had not settled long after their deadline. */
  readonly unsettled: number;
  /** Greatest time by which a call missed its deadline, the machine's lateness taken off; milliseconds. */
  readonly worst: number;
}

/** The slack that every deadline has, milliseconds. */
export const SLACK = 50;
/** Pause between the calls of one caller: load, but not a spinning loop. Milliseconds. */
const PAUSE = 5;

/** Ends of calls that were not even begun. */
const NOT_BEGUN = /^not-sent ERR_REDIS_(NOT_READY|BREAKER_OPEN)$/;

/** An answer that no fault excuses. */
export class WrongAnswer extends Error {}

/** Keeps callers busy, and writes down how and when each call settles. */
export class Load {
  readonly lateness = new Lateness();
  #tally: Tally = {};
  #sinceMark: Tally = {};
  #epoch = 0;
  #running: Promise<unknown> | undefined;
  #stopping = false;
  #unsettled = 0;
  #violations: string[] = [];
  #atOnce = false;
  #overdue: { what: string; due: number; settled: number }[] = [];

  constructor(private readonly kinds: readonly Kind[]) {}

  get stopping(): boolean {
    return this.#stopping;
  }

  /** `atOnce`: in this run what cannot be sent fails without delay, because nothing is tried again before. */
  start({ atOnce }: { atOnce: boolean }): void {
    this.#stopping = false;
    this.#atOnce = atOnce;
    this.#tally = {};
    this.#violations = [];
    this.#overdue = [];
    this.lateness.forget();
    this.mark();
    const callers = this.kinds.flatMap((kind) => Array.from({ length: kind.callers }, (_, n) => this.#caller(kind, n)));
    this.#running = Promise.all(callers);
  }

  /** From here on the tally counts calls that begin after this moment. */
  mark(): void {
    this.#epoch++;
    this.#sinceMark = {};
  }

  get sinceMark(): Tally {
    return this.#sinceMark;
  }

  /** Ends the load and judges it. `patience`: milliseconds after which a call counts as never settled. */
  async stop(patience: number): Promise<LoadReport> {
    this.#stopping = true;
    let timer: NodeJS.Timeout | undefined;
    await Promise.race([this.#running, new Promise((resolve) => (timer = setTimeout(resolve, patience)))]);
    clearTimeout(timer);
    await this.lateness.seen();
    const late = this.#overdue.map(({ what, due, settled }) => {
      const lateness = this.lateness.between(due, settled);
      return { what, ms: settled - due - lateness, lateness };
    });
    const tooLate = late.filter(({ ms }) => ms > SLACK);
    return {
      tally: this.#tally,
      violations: [
        ...this.#violations,
        ...tooLate.map(
          ({ what, ms, lateness }) =>
            `${what}: ${ms.toFixed()} ms after its deadline (${lateness.toFixed()} ms late timers taken off)`,
        ),
      ].slice(0, 20),
      unsettled: this.#unsettled,
      worst: Math.round(late.reduce((worst, { ms }) => Math.max(worst, ms), 0)),
    };
  }

  /** One call of each caller, all at once, beside what it makes anyway. */
  burst(): void {
    const calls = this.kinds.flatMap((kind) => Array.from({ length: kind.callers }, (_, n) => this.#one(kind, n, 0)));
    this.#running = Promise.all([this.#running, ...calls]);
  }

  async #caller(kind: Kind, caller: number): Promise<void> {
    for (let turn = 0; !this.#stopping; turn++) {
      await this.#one(kind, caller, turn);
      await new Promise((resolve) => setTimeout(resolve, PAUSE));
    }
  }

  async #one(kind: Kind, caller: number, turn: number): Promise<void> {
    const epoch = this.#epoch;
    const begun = performance.now();
    this.#unsettled++;
    const label = await kind.call(caller, turn).then(
      (success) => success,
      (error: unknown) => this.#labelOf(kind, error),
    );
    const settled = performance.now();
    this.#unsettled--;
    count(this.#tally, kind.name, label);
    if (epoch === this.#epoch) count(this.#sinceMark, kind.name, label);
    const soon = this.#atOnce && kind.atOnce === true && NOT_BEGUN.test(label);
    const due = soon ? begun : begun + kind.deadline;
    if (settled > due) this.#overdue.push({ what: `${kind.name} (${label})`, due, settled });
  }

  #labelOf(kind: Kind, error: unknown): string {
    const { code, outcome, reply } = error as { code?: string; outcome?: string; reply?: string };
    if (error instanceof WrongAnswer) this.#violations.push(`${kind.name}: ${error.message}`);
    else if (!code?.startsWith('ERR_'))
      this.#violations.push(`${kind.name}: ${String((error as Error)?.stack ?? error)}`);
    return [outcome, code, reply].filter((part) => part !== undefined).join(' ');
  }
}

function count(tally: Tally, kind: string, label: string): void {
  const labels = (tally[kind] ??= {});
  labels[label] = (labels[label] ?? 0) + 1;
}
