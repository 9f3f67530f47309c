import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Mode, TopologyOptions } from '../../support/topologies.js';
import { CLOSE_TIME, FaultApp, type Expected } from './faults-app.js';
import type { LoadReport } from './faults-load.js';
import { startPlace, type Place } from './faults-place.js';

/** `CHAOS=long`: every row on every topology, several times. Else a representative part. */
const LONG = process.env.CHAOS === 'long';
const ROUNDS = LONG ? 2 : 1;
export const ALL_MODES: readonly Mode[] = ['standalone', 'sentinel', 'cluster'];

/** One row of the fault catalogue. */
export interface Fault {
  readonly name: string;
  /** Where the fault exists. */
  readonly modes: readonly Mode[];
  /** Where it runs in a short run. */
  readonly short: readonly Mode[];
  /** Causes it, and gives what ends it. */
  cause(place: Place, app: FaultApp): Promise<(() => unknown) | void>;
  /** How calls end while it lasts: waited for. */
  readonly shows?: Expected;
  /** How all calls of a kind end, from before the fault until after the recovery. */
  readonly only?: Expected;
  /** Nothing can be sent, and nothing is tried again: what does not wait for a connection fails without delay. */
  readonly atOnce?: boolean;
  /** The servers lose data: what was acknowledged, and whose lock it is, may be forgotten. */
  readonly loses?: boolean;
}

/** The topologies of this run. */
export function modesOf({
  modes = ALL_MODES,
  short,
}: {
  modes?: readonly Mode[];
  short: readonly Mode[];
}): readonly Mode[] {
  return LONG ? modes : short;
}

/** Patterns keep their word in every fault: caches never fail, limits always decide, all else says what is known. */
const ALWAYS: Expected = {
  cache: /^ok/,
  limit: /^ok/,
  read: /^(ok|(refused|not-sent|unknown) ERR_REDIS_)/,
  once: /^(ok|(refused|not-sent|unknown) ERR_REDIS_)/,
  token: /^(ok|(refused|not-sent|unknown) ERR_REDIS_)/,
  publish: /^(ok|(refused|not-sent) ERR_REDIS_|unknown ERR_STREAM_PUBLISH)/,
  lock: /^(ok|ERR_LOCK_(UNAVAILABLE|LOST|TIMEOUT)$)/,
  keeper: /^(ok|ERR_LOCK_(UNAVAILABLE|TIMEOUT)$)/,
  contender: /^(ok|ERR_LOCK_UNAVAILABLE$)/,
};

/** Runs rows of the catalogue against one application for each topology, which lives through all of them. */
export function describeFaults(title: string, faults: readonly Fault[], options: TopologyOptions = {}): void {
  for (const mode of ALL_MODES) {
    const rows = faults.filter((fault) => modesOf(fault).includes(mode));
    if (rows.length === 0) continue;
    describe(`${title}, ${mode}`, () => {
      let place: Place;
      let app: FaultApp;
      /** A row that failed may have left anything behind. */
      let spoiled = false;
      const start = async (): Promise<void> => {
        place = await startPlace(mode, options);
        app = await FaultApp.start(place);
      };
      const stop = async (): Promise<void> => {
        await app?.program.kill();
        await place?.stop();
      };
      beforeAll(start, 60_000);
      afterAll(stop, 60_000);

      for (let round = 1; round <= ROUNDS; round++) {
        it.each(rows)(
          ROUNDS === 1 ? '$name' : `$name (${round})`,
          async (fault) => {
            if (spoiled) await stop().then(start);
            spoiled = true;
            await runFault(fault, place, app);
            spoiled = false;
          },
          120_000,
        );
      }

      it('the application has lived through all of this in silence, closes in time, and its process ends', async () => {
        if (spoiled) return;
        const { connection } = await app.close<{ connection: number }>();
        expect(connection).toBeLessThan(CLOSE_TIME);
        expect(app.program.output).toBe('');
      });
    });
  }
}

async function runFault(fault: Fault, place: Place, app: FaultApp): Promise<void> {
  const { loses = false, atOnce = false } = fault;
  await app.begin({ atOnce });
  await app.ask('mark');
  const heal = await fault.cause(place, app);
  try {
    await app.shows(fault.shows ?? {});
  } finally {
    await heal?.();
  }
  await app.recovers();
  const report = await app.finish({ loses });
  expect(report).toMatchObject({ violations: [], unsettled: 0 });
  expect(unexpected(report, { ...ALWAYS, ...fault.only })).toEqual([]);
  const { written, published, overlaps } = await app.check(await place.found(app.run));
  const nothing = { ghosts: [], duplicates: [], ...(loses ? {} : { lost: [] }) };
  expect({ written, published }).toMatchObject({ written: nothing, published: nothing });
  if (!loses) expect(overlaps).toEqual([]);
}

/** Ends of calls that are not as expected. */
function unexpected({ tally }: LoadReport, expected: Expected): string[] {
  return Object.entries(expected).flatMap(([kind, end]) =>
    Object.entries(tally[kind] ?? {}).flatMap(([label, n]) => (end.test(label) ? [] : [`${n} x ${kind}: ${label}`])),
  );
}
