import { afterEach, describe, expect, it } from '@jest/globals';
import { slotOf } from '../../../libs/redis-patterns/src/keys/index.js';
import { eventually } from '../../support/eventually.js';
import { startOwn, uniqueNamespace, type Topology } from '../../support/topologies.js';
import { inspect, WELL } from './check.js';
import { openPair, type Pair, type PairOptions } from './pair.js';

/** Milliseconds within which a master has a successor, on a loaded machine. */
const ELECTION = 20_000;

let servers: Topology;
const pairs: Pair[] = [];
afterEach(async () => {
  await Promise.all(pairs.splice(0).map((pair) => pair.close()));
  await servers.stop();
});

async function open(options: Omit<PairOptions, 'connection'>): Promise<Pair> {
  const pair = await openPair({ connection: servers.connection, ...options });
  pairs.push(pair);
  return pair;
}

async function settleWell({ plain, kept, plainFlood, keptFlood, settle }: Pair): Promise<void> {
  await settle();
  expect(inspect(plain.events, plainFlood.answered)).toEqual(WELL);
  expect(inspect(kept.events, keptFlood.answered)).toEqual(WELL);
  // What was answered and had not reached the replica when its master died is lost, and told.
  const unheard = keptFlood.answered.filter((n) => !kept.events.includes(n));
  if (unheard.length > 0) expect(kept.reasons).toEqual(['reset']);
}

describe('pub/sub in a Cluster', () => {
  it('follows a slot that is migrated, and a master that dies: what is not heard lies in one gap for each', async () => {
    servers = await startOwn('cluster');
    const names = { plain: '{moving}:plain', kept: '{moving}:kept' };
    const namespace = uniqueNamespace();
    const sharded = await open({ namespace, names, sharded: true });
    const broadcast = await open({ namespace: uniqueNamespace(), names: { plain: '{m}:plain', kept: '{m}:kept' } });
    await Promise.all(pairs.map((pair) => pair.hearsAgain()));
    const keys = Object.values(names).map((name) => `${namespace}:pubsub:${name}`);
    await migrate(servers, keys);
    await Promise.all(pairs.map((pair) => pair.hearsAgain()));
    expect([sharded.plain.reasons, sharded.kept.reasons]).toEqual([['moved'], []]);
    expect([broadcast.plain.reasons, broadcast.kept.reasons]).toEqual([[], []]);
    await servers.kill((await ownerOf(servers, slotOf(keys[0]!)))!);
    await Promise.all(pairs.map((pair) => pair.hearsAgain(ELECTION)));
    await settleWell(sharded);
    await settleWell(broadcast);
    expect(sharded.plain.reasons.length).toBeGreaterThan(1);
  }, 60_000);
});

describe('pub/sub on a Sentinel whose master dies', () => {
  it('goes on: each answered message is heard, or lies in a gap', async () => {
    servers = await startOwn('sentinel');
    const pair = await open({ namespace: uniqueNamespace() });
    await pair.hearsAgain();
    await servers.kill(await servers.primary());
    await pair.hearsAgain(ELECTION);
    await settleWell(pair);
    expect(pair.plain.reasons).toEqual(['disconnected']);
  }, 60_000);
});

type Server = Topology['nodes'][number];

async function ownerOf(cluster: Topology, slot: number): Promise<Server | undefined> {
  const ranges = (await (await cluster.primary()).command('CLUSTER', 'SLOTS')) as [number, number, [string, number]][];
  const range = ranges.find(([from, to]) => from <= slot && slot <= to);
  return cluster.nodes.find(({ port }) => port === range?.[2][1]);
}

/** Moves the slot of the keys to another master, with its keys, as an administrator does it. */
async function migrate(cluster: Topology, keys: readonly string[]): Promise<void> {
  const slot = slotOf(keys[0]!);
  const masters = await cluster.masters();
  const source = (await ownerOf(cluster, slot))!;
  const target = masters.find((master) => master !== source)!;
  const [sourceId, targetId] = await Promise.all([source, target].map((node) => node.command('CLUSTER', 'MYID')));
  await target.command('CLUSTER', 'SETSLOT', String(slot), 'IMPORTING', String(sourceId));
  await source.command('CLUSTER', 'SETSLOT', String(slot), 'MIGRATING', String(targetId));
  for (const key of keys) await source.command('MIGRATE', target.host, String(target.port), key, '0', '5000');
  for (const node of [target, source, ...masters.filter((master) => master !== source && master !== target)]) {
    await node.command('CLUSTER', 'SETSLOT', String(slot), 'NODE', String(targetId));
  }
  await eventually(async () => expect(await ownerOf(cluster, slot)).toBe(target));
}
