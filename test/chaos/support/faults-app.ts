import { expect } from '@jest/globals';
import { startProgram, type Program } from '../../support/child-process.js';
import { eventually } from '../../support/eventually.js';
import type { Verdict } from '../../support/history.js';
import type { LoadReport, Tally } from './faults-load.js';
import type { Place } from './faults-place.js';

export interface AppSetup {
  readonly connection: Place['connection'];
  readonly namespace: string;
  /** Milliseconds. */
  readonly closeTimeout: number;
}

/** Less than the time after which a silent socket is replaced, so that a close which waits for that is seen. Milliseconds. */
const CLOSE_TIMEOUT = 500;
/** What closing may take on a busy machine. */
export const CLOSE_TIME = CLOSE_TIMEOUT + 500;

/** Kinds of calls that the application under load makes. */
export type KindName = 'read' | 'once' | 'token' | 'cache' | 'limit' | 'publish' | 'lock' | 'keeper' | 'contender';
/** What is expected of some kinds of calls: their ends, as the tally writes them. */
export type Expected = Partial<Record<KindName, RegExp>>;

/** How calls end when all is well; the seeing of a hit, or of a decision by Redis, shows that the pattern uses Redis. */
const WELL: Expected = {
  read: /^ok$/,
  once: /^ok$/,
  token: /^ok$/,
  cache: /^ok hit$/,
  limit: /^ok redis$/,
  publish: /^ok$/,
  lock: /^ok$/,
  contender: /^ok/,
};
/** A kind has been seen to end in a way when that many calls have; one that takes a second without Redis, once. */
const ENOUGH = { contender: 1, other: 3 };

/** The application under load (or another of the programs), seen from the spec. */
export class FaultApp {
  /** Counts the times that the load was started, as the program does. */
  run = 0;
  readonly #asked = new Map<string, number>();

  private constructor(readonly program: Program) {}

  static async start({ connection, namespace }: Place, { program = 'app' } = {}): Promise<FaultApp> {
    const data: AppSetup = { connection, namespace, closeTimeout: CLOSE_TIMEOUT };
    const app = new FaultApp(startProgram(new URL(`../faults/programs/${program}.ts`, import.meta.url), { data }));
    try {
      await app.program.next('ready');
    } catch (error) {
      await app.program.kill();
      throw error;
    }
    return app;
  }

  /** Asks the program, which answers each request in order. */
  async ask<T>(type: string, fields: object = {}, timeout = 20_000): Promise<T> {
    const count = (this.#asked.get(type) ?? 0) + 1;
    this.#asked.set(type, count);
    this.program.send({ type, ...fields });
    return (await this.program.next(`${type}:done`, { count, timeout })).value as T;
  }

  /** Starts the load and waits until every kind of call succeeds. */
  async begin({ atOnce = false } = {}): Promise<void> {
    this.run++;
    await this.ask('begin', { atOnce });
    await this.recovers();
  }

  /** Waits until calls that began after the last mark have ended in these ways. */
  async shows(expected: Expected, timeout = 15_000): Promise<void> {
    await eventually(
      async () => {
        const tally = await this.ask<Tally>('tally');
        const missing = Object.entries(expected).filter(
          ([kind, end]) => countOf(tally, kind, end) < (kind === 'contender' ? ENOUGH.contender : ENOUGH.other),
        );
        if (missing.length > 0) {
          throw new Error(
            `Not seen: ${missing.map(([kind, end]) => `${kind} ${end}`).join(', ')} in ${JSON.stringify(tally)}`,
          );
        }
      },
      { timeout, interval: 50 },
    );
  }

  /** Whether a call that began after the last mark has ended in this way. */
  async saw(kind: KindName, end: RegExp): Promise<boolean> {
    return countOf(await this.ask<Tally>('tally'), kind, end) > 0;
  }

  /** Waits until every pattern is served by Redis again. */
  async recovers(): Promise<void> {
    await this.ask('mark');
    await this.shows(WELL, 25_000);
  }

  /** Ends the load; the consumer handles all that was acknowledged, or, after a loss of data, all since the recovery. */
  async finish({ loses }: { loses: boolean }): Promise<LoadReport> {
    const report = await this.ask<LoadReport>('stop');
    const unhandled = () => this.ask('unhandled', { sinceMark: loses });
    await eventually(async () => expect(await unhandled()).toBe(0), { timeout: 15_000 });
    return report;
  }

  check(
    found: Awaited<ReturnType<Place['found']>>,
  ): Promise<{ written: Verdict; published: Verdict; overlaps: unknown[] }> {
    return this.ask('check', { found });
  }

  /** Closes it, waits until its process has ended by itself, and gives how long the closing took. */
  async close<Times>(): Promise<Times> {
    const times = await this.ask<Times>('close');
    expect(await this.program.exited({ timeout: 5000 })).toEqual({ code: 0, signal: null });
    return times;
  }
}

function countOf(tally: Tally, kind: string, end: RegExp): number {
  const ends = Object.entries(tally[kind] ?? {}).filter(([label]) => end.test(label));
  return ends.reduce((sum, [, n]) => sum + n, 0);
}
