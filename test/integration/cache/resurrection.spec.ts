import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { setImmediate as turn } from 'node:timers/promises';
import { describeOnEachTopology } from '../../support/topologies.js';
import { openCache, type TestCache } from './test-cache.js';

const KEYS = 3;
const CHANGES = 150;

/** A database row whose version only grows; reads and writes take a while, as in life. */
class Database {
  readonly versions = Array<number>(KEYS).fill(0);

  async read(row: number): Promise<number> {
    await pause();
    const version = this.versions[row]!;
    await pause();
    return version;
  }

  async write(row: number): Promise<number> {
    await pause();
    return ++this.versions[row]!;
  }
}

/** A few turns of the event loop, a random number of them: replies of Redis come between. */
async function pause(): Promise<void> {
  for (let left = Math.floor(Math.random() * 12); left > 0; left--) await turn();
}

describeOnEachTopology('no resurrection', { user: 'cache' }, (topology) => {
  let processes: TestCache[];

  beforeAll(async () => {
    // Two connections in one of them: its commands are not even in order.
    const pool = topology.mode === 'cluster' ? {} : { pool: { size: 2 } };
    processes = await Promise.all([openCache(topology), openCache(topology, {}, pool), openCache(topology)]);
  });
  afterAll(() => Promise.all((processes ?? []).map((opened) => opened.close())));

  it.each(['evict', 'set'] as const)('a call never gets what was read before an acknowledged %s', async (kind) => {
    const database = new Database();
    const acknowledged = Array<number>(KEYS).fill(0);
    const stale: object[] = [];
    let loads = 0;
    let hits = 0;
    let changing = true;

    const change = async (process: TestCache): Promise<void> => {
      for (let n = 0; n < CHANGES; n++) {
        const row = n % KEYS;
        const version = await database.write(row);
        const key = [kind, row] as const;
        if (kind === 'evict') await process.cache.evict(key);
        else await process.cache.set(key, version, { version });
        acknowledged[row] = Math.max(acknowledged[row]!, version);
        await pause();
      }
    };
    const read = async (process: TestCache): Promise<void> => {
      while (changing) {
        const row = Math.floor(Math.random() * KEYS);
        const required = acknowledged[row]!;
        let loaded = false;
        const value = await process.cache.getOrSet([kind, row] as const, () => {
          loaded = true;
          return database.read(row);
        });
        if (loaded) loads++;
        else hits++;
        if (value < required) stale.push({ row, value, required });
        await pause();
      }
    };
    const readers = processes.flatMap((process) => Array.from({ length: 6 }, () => read(process)));
    await Promise.all(processes.slice(0, 2).map(change));
    changing = false;
    await Promise.all(readers);

    expect(stale).toEqual([]);
    // It was about something: values were loaded and shared all the time.
    expect(loads).toBeGreaterThan(kind === 'evict' ? 50 : 0);
    expect(hits).toBeGreaterThan(50);
  });
});
