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

const KINDS = ['evict', 'set', 'tag', 'tag of the value', 'stale', 'early', 'many'] as const;
type Kind = (typeof KINDS)[number];

describeOnEachTopology('no resurrection', (topology) => {
  let processes: TestCache[];

  beforeAll(async () => {
    // Two connections in one of them: its commands are not even in order.
    const pool = topology.mode === 'cluster' ? {} : { pool: { size: 2 } };
    // A machine that is busy with something else must not let a change fail.
    const options = { operationTimeout: '5s' } as const;
    const open = (connection = {}) => openCache(topology, options, connection);
    processes = await Promise.all([open(), open(pool), open()]);
  });
  afterAll(() => Promise.all((processes ?? []).map((opened) => opened.close())));

  it.each(KINDS)('a call never gets what was read before an acknowledged change (%s)', async (kind) => {
    const database = new Database();
    const acknowledged = Array<number>(KEYS).fill(0);
    const stale: object[] = [];
    let loads = 0;
    let calls = 0;
    let changing = true;
    const load = (row: number): Promise<number> => {
      loads++;
      return database.read(row);
    };

    const change = async (process: TestCache): Promise<void> => {
      for (let n = 0; n < CHANGES; n++) {
        const row = n % KEYS;
        const version = await database.write(row);
        await invalidate(process, kind, row, version);
        acknowledged[row] = Math.max(acknowledged[row]!, version);
        await pause();
      }
    };
    const read = async (process: TestCache): Promise<void> => {
      while (changing) {
        const rows = kind === 'many' ? [0, 1, 2] : [Math.floor(Math.random() * KEYS)];
        const required = rows.map((row) => acknowledged[row]!);
        const values = await readRows(process, kind, rows, load);
        calls++;
        rows.forEach((row, index) => {
          if (values[index]! < required[index]!) stale.push({ row, value: values[index], required: required[index] });
        });
        await pause();
      }
    };
    const readers = processes.flatMap((process) => Array.from({ length: 6 }, () => read(process)));
    try {
      await Promise.all(processes.slice(0, 2).map(change));
    } finally {
      changing = false;
      await Promise.all(readers);
    }

    expect(stale).toEqual([]);
    // It was about something: values were loaded and shared all the time.
    expect(loads).toBeGreaterThan(kind === 'set' ? 0 : 50);
    expect(calls).toBeGreaterThan(loads / 4);
  });
});

async function invalidate({ cache }: TestCache, kind: Kind, row: number, version: number): Promise<void> {
  const key = [kind, row] as const;
  if (kind === 'set') await cache.set(key, version, { version });
  else if (kind.includes('tag')) await cache.invalidateTags([`${kind} ${row}`]);
  else await cache.evict(key);
}

async function readRows(
  { cache }: TestCache,
  kind: Kind,
  rows: number[],
  load: (row: number) => Promise<number>,
): Promise<number[]> {
  const row = rows[0]!;
  const key = [kind, row] as const;
  const tag = `${kind} ${row}`;
  switch (kind) {
    case 'many': {
      const keys = rows.map((one) => [kind, one] as const);
      const bulk = async (missing: (readonly [string, number])[]) =>
        new Map(await Promise.all(missing.map(async (one) => [one, await load(one[1])] as const)));
      return [...(await cache.getOrSetMany(keys, bulk)).values()];
    }
    case 'tag of the value':
      return [await cache.getOrSet(key, () => load(row), { resultTags: () => [tag] })];
    case 'tag':
      return [await cache.getOrSet(key, () => load(row), { tags: [tag] })];
    case 'stale':
      // Fresh for so short that nearly every call refreshes; the copy is older than the call, but never than an eviction.
      return [await cache.getOrSet(key, () => load(row), { ttl: 2, stale: '1m', timeouts: { soft: 5 } })];
    case 'early':
      return [await cache.getOrSet(key, () => load(row), { ttl: 50, earlyRefresh: { beta: 100 } })];
    default:
      return [await cache.getOrSet(key, () => load(row))];
  }
}
