import { afterEach, describe, expect, it } from '@jest/globals';
import { LockTimeoutError, LockUnavailableError } from 'nestjs-redis-patterns';
import { eventually } from '../../support/eventually.js';
import { findOverlaps, type Hold } from '../../support/history.js';
import { startOwn, type Mode, type Topology } from '../../support/topologies.js';
import { openLocks, type OpenLocks } from '../../integration/lock/test-locks.js';
import { LONG, print, tagOf } from '../support/load.js';
import { clusterFailover, complete, crash, type Server } from './failover.js';

const ROUNDS = LONG ? 10 : 1;
const CALLERS = 4;

interface Fault {
  readonly name: string;
  readonly mode: Mode;
  begin(own: Topology, master: Server): Promise<unknown>;
}

const faults: readonly Fault[] = [
  { name: 'a restart with no data', mode: 'standalone', begin: (own, master) => own.restart(master, { data: 'wipe' }) },
  { name: 'a crash', mode: 'sentinel', begin: crash },
  { name: 'a crash', mode: 'cluster', begin: crash },
];
const failover: Fault = { name: 'CLUSTER FAILOVER', mode: 'cluster', begin: clusterFailover };

interface FencedHold extends Hold {
  readonly fence: bigint;
}

/** Takes and gives back one lock again and again; what it is told when that fails is an error of a lock, nothing else. */
class Caller {
  readonly holds: FencedHold[] = [];
  failures = 0;
  #stopped = false;
  readonly #running: Promise<void>;

  constructor(
    private readonly name: string,
    private readonly open: OpenLocks,
    private readonly key: string,
  ) {
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      try {
        const lock = await this.open.locks.acquire(this.key, { lease: '2s', wait: '5s' });
        const from = performance.now();
        await new Promise((resolve) => setTimeout(resolve, 2));
        const to = Math.min(performance.now(), lock.deadline);
        this.holds.push({ owner: this.name, from, to, fence: lock.fence });
        await lock.release();
      } catch (error) {
        if (!(error instanceof LockUnavailableError) && !(error instanceof LockTimeoutError)) throw error;
        this.failures++;
      }
    }
  }
}

function fencesThatGoBack(holds: readonly FencedHold[]): FencedHold[] {
  return holds.filter(({ fence }, n) => n > 0 && fence <= holds[n - 1]!.fence);
}

describe('locks', () => {
  const closing: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const close of closing.splice(0).toReversed()) await close();
  });

  async function start(mode: Mode, keyOf: (caller: number) => string): Promise<{ own: Topology; callers: Caller[] }> {
    const own = await startOwn(mode);
    closing.push(() => own.stop());
    const callers: Caller[] = [];
    for (let n = 0; n < CALLERS; n++) {
      const open = await openLocks({ connection: own.connection, namespace: 'chaos' });
      closing.push(() => open.close());
      callers.push(new Caller(`caller-${n}`, open, keyOf(n)));
    }
    closing.push(() => Promise.all(callers.map((caller) => caller.stop())));
    await granted(callers);
    return { own, callers };
  }

  /** Everybody has had the lock some times more. */
  async function granted(callers: readonly Caller[], times = 10): Promise<void> {
    const goals = callers.map(({ holds }) => holds.length + times);
    await eventually(() => callers.every(({ holds }, n) => holds.length >= goals[n]!), {
      timeout: 30_000,
      what: 'locks to be granted again',
    });
  }

  async function failOver(own: Topology, callers: readonly Caller[], fault: Fault): Promise<void> {
    for (let round = 0; round < ROUNDS; round++) {
      await complete(own);
      const began = performance.now();
      await fault.begin(own, await own.primary());
      await granted(callers, 1);
      print(`${fault.mode}, locks and ${fault.name}: granted again after ${Math.round(performance.now() - began)} ms`);
      await granted(callers);
    }
    await Promise.all(callers.map((caller) => caller.stop()));
    print(`  ${callers.map(({ holds, failures }) => `${holds.length} grants, ${failures} failures`).join('; ')}`);
  }

  it.each(faults)(
    'of $mode are granted again after $name, with fences that never go back',
    async (fault) => {
      const { own, callers } = await start(fault.mode, (n) => `fenced:${tagOf(0)}:${n}`);
      await failOver(own, callers, fault);
      for (const { holds } of callers) expect(fencesThatGoBack(holds)).toEqual([]);
    },
    60_000 * ROUNDS,
  );

  it(
    'have one holder at a time through CLUSTER FAILOVER, which loses no data',
    async () => {
      const { own, callers } = await start('cluster', () => `exclusive:${tagOf(0)}`);
      await failOver(own, callers, failover);
      const holds = callers.flatMap((caller) => caller.holds);
      expect(findOverlaps(holds)).toEqual([]);
      expect(fencesThatGoBack(holds.toSorted((a, b) => a.from - b.from))).toEqual([]);
    },
    60_000 * ROUNDS,
  );
});
