import { afterEach, describe, expect, it } from '@jest/globals';
import { eventually } from '../../support/eventually.js';
import type { Mode } from '../../support/topologies.js';
import { complete, crash } from '../failover/failover.js';
import { LONG, print } from '../support/load.js';
import { clock } from './records.js';
import { ATTEMPTS, LEASE, Place, STREAM_KEY } from './place.js';

const MESSAGES = LONG ? 50_000 : 1000;
/** Milliseconds between two messages of one publisher. */
const PAUSE = LONG ? 2 : 15;

type Fault = (place: Place) => Promise<unknown>;

/** A fault during which leases may end. */
async function outage(place: Place, fault: () => Promise<unknown>): Promise<void> {
  const span = { from: clock(), to: Infinity };
  place.account.exceptions.outages.push(span);
  await fault();
  span.to = clock() + 2 * LEASE;
}

/** A fault after which what was published since `from` may be gone. */
async function amnesia(
  place: Place,
  kind: 'deletions' | 'failovers',
  from: number,
  fault: () => Promise<unknown>,
): Promise<void> {
  const span = { from, to: Infinity };
  place.account.exceptions[kind].push(span);
  await outage(place, fault);
  span.to = clock();
}

const kill: Record<string, Fault> = {
  'SIGKILL of a consumer': (place) => place.replace((worker) => worker.kill()),
};

const stops: Record<string, Fault> = {
  'SIGSTOP of a consumer, longer than its lease': (place) => place.stop(),
  'a consumer that is replaced in order': (place) =>
    place.replace(async (worker) => {
      worker.send({ type: 'drain' });
      await worker.exited();
    }),
};

const connections: Record<string, Fault> = {
  'CLIENT KILL': ({ admin }) =>
    Promise.all(admin.masters().map((node) => node.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes'))),
};

const network: Record<string, Fault> = {
  'lost replies': (place) => lose(place, 'dropDown'),
  'lost requests': (place) => lose(place, 'dropUp'),
};

const halfOpen: Record<string, Fault> = {
  'half-open sockets': (place) =>
    outage(place, async () => {
      await place.fleet.set('halfOpen');
      await place.fleet.set('pass');
      await place.more(50);
    }),
};

async function lose({ fleet }: Place, mode: 'dropDown' | 'dropUp'): Promise<void> {
  const lost = (): number => fleet.proxies.reduce((sum, { bytesLost }) => sum + bytesLost, 0);
  const before = lost();
  await fleet.set(mode, { cut: true });
  await eventually(() => lost() > before + 500);
  await fleet.set('pass');
}

const data: Record<string, Fault> = {
  'XGROUP DESTROY': (place) =>
    outage(place, async () => {
      await place.admin.client.xgroup('DESTROY', STREAM_KEY, 'b');
      await place.more(20);
    }),
};

const losses: Record<string, Fault> = {
  'DEL of the stream': (place) => amnesia(place, 'deletions', 0, () => place.admin.client.del(STREAM_KEY)),
  FLUSHALL: (place) => amnesia(place, 'deletions', 0, () => place.admin.client.flushall()),
  'a restart of Redis': (place) =>
    outage(place, async () => {
      const primary = await place.own.primary();
      await place.own.kill(primary);
      await place.own.restart(primary);
    }),
};

const failover: Record<string, Fault> = {
  failover: async (place) => {
    const { own } = place;
    if (LONG) await complete(own);
    const master = await own.primary();
    // Replication is asynchronous: what is answered from now on may be lost with the master.
    await amnesia(place, 'failovers', await place.caughtUp(), async () => {
      if (LONG) {
        await crash(own, master);
        // Until it is told that it is a replica now, the old master believes what it always did.
        return complete(own);
      }
      await own.kill(master);
      const masters = own.mode === 'cluster' ? 3 : 1;
      await eventually(
        async () => {
          const found = await own.masters();
          return found.length === masters && !found.includes(master);
        },
        { timeout: 60_000, what: 'another master' },
      );
    });
  },
};

const all = { ...kill, ...stops, ...connections, ...network, ...halfOpen, ...data };
const CASES: [Mode, Record<string, Fault>][] = LONG
  ? [
      ['standalone', { ...all, ...losses }],
      ['sentinel', { ...kill, ...stops, ...connections, ...data, ...failover }],
      ['cluster', { ...all, ...failover }],
    ]
  : [
      ['standalone', { ...all, ...losses }],
      ['sentinel', { ...kill, ...failover }],
      ['cluster', { ...stops, ...network, ...failover }],
    ];

/** In another order each time. */
function shuffled<T>(items: readonly T[]): T[] {
  return items
    .map((item) => ({ item, at: Math.random() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ item }) => item);
}

async function check(place: Place): Promise<void> {
  const { account } = place;
  await eventually(
    async () => {
      await place.readRuns();
      expect(account.missing(await place.deadLetters())).toEqual([]);
      expect(await place.pending()).toEqual([0, 0]);
    },
    { timeout: 30_000, interval: 100 },
  );
  expect(account.duplicates()).toEqual([]);
  expect(account.ghosts()).toEqual([]);
  expect(account.wrongAttempts(ATTEMPTS)).toEqual([]);
  expect(account.wrongBurials(await place.deadLetters())).toEqual([]);
  expect(account.overlaps()).toEqual([]);
  expect(place.crashes()).toEqual([]);
  expect(await place.endless()).toEqual([]);
  const twice = [...(await place.entries())].filter(([, entries]) => entries.length > 1);
  expect(twice).toEqual([]);
}

describe('the history of one stream', () => {
  const closing: (() => Promise<unknown> | void)[] = [];
  afterEach(async () => {
    for (const close of closing.splice(0).toReversed()) await close();
  }, 30_000);

  it.each(CASES)(
    'on %s has every answered message run or buried in each group, once at a time, whatever happens',
    async (mode, faults) => {
      const place = await Place.open(mode, closing);
      place.publishers.start(PAUSE);
      do {
        for (const [name, happen] of shuffled(Object.entries(faults))) {
          await place.more(20);
          const began = clock();
          await happen(place);
          await place.more(20);
          print(`${mode}, ${name}: both groups run new messages after ${Math.round(clock() - began)} ms`);
        }
      } while (LONG && place.publishers.count < MESSAGES);
      await eventually(() => place.publishers.count >= MESSAGES, { timeout: 30_000 });
      await place.settled();
      await place.publishers.stop();
      await check(place);
      const { runs, repetitions, published } = place.account;
      const unsure = [...published.values()].filter(({ outcome }) => outcome === 'unknown').length;
      print(
        `${mode}: ${published.size} messages, ${unsure} of unknown outcome, ${runs.length} runs, ${repetitions} again`,
      );
    },
    LONG ? 1_800_000 : 150_000,
  );
});
