import { openEngine } from '../../support/engine.js';
import { eventually } from '../../support/eventually.js';
import { startOwn, startProxies, type FaultProxy, type Mode, type Topology } from '../../support/topologies.js';
import { Load, LONG, print, summary, type ListReader, type LoadReport, type Write } from '../support/load.js';

export type Server = Topology['nodes'][number];

/** What happens to the master of the first shard. */
export interface Fault {
  readonly name: string;
  readonly mode: Exclude<Mode, 'standalone'>;
  /** `proxy` stands between the application and the master when the fault is `proxied`. */
  begin(topology: Topology, master: Server, proxy?: FaultProxy): Promise<unknown>;
  readonly proxied?: boolean;
  /** Once the service is back: what becomes of the old master. */
  end?(topology: Topology, master: Server): Promise<unknown>;
}

export interface FailOvers {
  readonly report: LoadReport;
  readonly writes: readonly Write[];
  /** For each round, how long each shard was away; milliseconds. */
  readonly backAfter: readonly (readonly number[])[];
}

const ROUNDS = LONG ? 10 : 1;
/** Milliseconds that the specs of one fault may take. */
export const TEST_TIMEOUT = 60_000 * ROUNDS;

/** Replicas of each master. */
export const REPLICAS = { standalone: 0, sentinel: 2, cluster: 1 } as const;
const SHARDS = { standalone: 1, sentinel: 1, cluster: 3 } as const;

/** The old master comes back, and has forgotten everything. */
export function restart(own: Topology, master: Server): Promise<void> {
  return own.restart(master, { data: 'wipe' });
}

/** The old master goes on where it was. */
export async function resume(own: Topology, master: Server): Promise<void> {
  own.resume(master);
}

/**
 * Fails a deployment over while callers write to it, and compares what they were told with what is there in the end. Three
 * processes, as it were: in the first, callers that wait for a connection and callers that do not; in the second, whose
 * socket WAIT holds up, callers that have their writes confirmed by replicas; the third is idle during the first failover and
 * has everything to find out afterwards, when the old master is back.
 */
export async function failOverUnderLoad({ name, mode, begin, proxied = false, end }: Fault): Promise<FailOvers> {
  const topology = await startOwn(mode);
  const closing: (() => Promise<unknown> | void)[] = [() => topology.stop()];
  try {
    const namespace = 'chaos';
    const fleet = proxied ? await startProxies(topology.nodes) : undefined;
    closing.push(() => fleet?.close());
    const ways = fleet === undefined ? {} : through(fleet, mode);
    const engines = await Promise.all(
      [1, 2, 3].map(() => openEngine({ connection: topology.connection, namespace }, ways)),
    );
    closing.push(...engines.map((engine) => () => engine.close()));
    const [plain, confirmed, idle] = engines.map(({ connection }) => connection);
    const load = new Load(namespace, SHARDS[mode]);
    closing.push(() => load.stop());
    const replicas = REPLICAS[mode];
    for (const n of [1, 2]) {
      load.call({ name: `plain-${n}`, connection: plain! });
      load.call({ name: `waiting-${n}`, connection: plain!, wait: true });
      load.call({ name: `confirmed-${n}`, connection: confirmed!, wait: true, replicas });
    }
    const faultsAt: number[] = [];
    for (let round = 1; round <= ROUNDS; round++) {
      await complete(topology);
      await load.replicated(replicas);
      await load.progress();
      const master = await topology.primary();
      const faultAt = performance.now();
      faultsAt.push(faultAt);
      await begin(topology, master, fleet?.of(master));
      await servesAnew(topology, load, master, faultAt);
      await end?.(topology, master);
      if (round === 1) load.call({ name: 'idle', connection: idle! });
      await load.progress(100);
    }
    await load.stop();
    const report = await eventually(async () => load.report(await lists(topology)), { timeout: 20_000 });
    const backAfter = faultsAt.map((at, round) => report.backAfter(at, faultsAt[round + 1]));
    tell(`${mode}, ${name}`, load, report, backAfter);
    return { report, writes: load.writes, backAfter };
  } finally {
    for (const close of closing.toReversed()) await close();
  }
}

/** Reads from each master by itself: a client would wait for one that is frozen. */
async function lists({ masters, mode }: Topology): Promise<ListReader> {
  const all = await masters();
  if (all.length < SHARDS[mode]) throw new Error('Not every shard has a master');
  return (key, shard) => all[shard]!.command('LRANGE', key, 0, -1);
}

/** Connection options that lead through the proxies, whatever addresses the servers give. */
function through({ proxies, natMap }: Awaited<ReturnType<typeof startProxies>>, mode: Mode): object {
  const nodes = proxies.map(({ host, port }) => ({ host, port }));
  return { ioredis: { natMap }, ...(mode === 'cluster' ? { nodes } : {}) };
}

/** Another server is the master, and holds a write of each shard that was begun after the fault. */
async function servesAnew(topology: Topology, load: Load, old: Server, faultAt: number): Promise<void> {
  await eventually(
    async () => {
      const [master] = await topology.masters();
      const found = new Set(await load.read(await lists(topology)));
      const kept = load.writes.filter(({ startedAt, id }) => startedAt > faultAt && found.has(id));
      return master !== old && new Set(kept.map(({ shard }) => shard)).size === load.shards;
    },
    { timeout: 40_000, interval: 50, what: 'the new master to be written to' },
  );
}

/**
 * A crash, and the network fails first: the last writes are applied and replicated, and nobody is told. A careless client
 * sends them once more, to the new master.
 */
export async function crashUnheard(topology: Topology, master: Server, proxy?: FaultProxy): Promise<void> {
  const lost = proxy!.bytesLost;
  await proxy!.set('dropDown');
  // Some replies; the others are on their way, as every caller has one call under way.
  await eventually(() => proxy!.bytesLost > lost + 20, { what: 'replies to be lost' });
  await topology.kill(master);
  await proxy!.set('pass');
}

/** A node votes once in two node timeouts for a replica of the same master: an election that comes sooner is lost. */
const VOTE_PAUSE = 2 * 1000 + 500;
const lastVotes = new WeakMap<Topology, number>();

/** CLUSTER FAILOVER, as soon as the other masters vote. */
export async function clusterFailover(topology: Topology, master: Server): Promise<void> {
  const notBefore = (lastVotes.get(topology) ?? -VOTE_PAUSE) + VOTE_PAUSE;
  await eventually(() => performance.now() >= notBefore);
  await topology.failover(master);
  lastVotes.set(topology, performance.now());
}

/** The master dies, and comes back empty when another one has taken its place. */
export async function crash(own: Topology, master: Server): Promise<void> {
  await own.kill(master);
  await eventually(async () => (await own.masters()).length === (own.mode === 'cluster' ? 3 : 1), { timeout: 30_000 });
  await own.restart(master, { data: 'wipe' });
}

/** Waits until every master has all of its replicas, so that it can be lost. */
export async function complete({ masters, mode }: Topology): Promise<void> {
  await eventually(
    async () => {
      const infos = await Promise.all((await masters()).map((master) => master.info('replication')));
      const online = infos.map((info) => Object.values(info).filter((value) => value.includes('state=online')).length);
      return online.every((count) => count === REPLICAS[mode]);
    },
    { timeout: 60_000, interval: 100, what: 'all replicas to be online' },
  );
}

function tell(title: string, load: Load, { lost }: LoadReport, backAfter: FailOvers['backAfter']): void {
  const byAcks = [0, 1, 2].map((acks) => lost.filter((write) => write.acks === acks).length);
  print(`${title}: each shard back after ${backAfter.map((shards) => shards.join('/')).join(', ')} ms`);
  print(`  acknowledged and lost by the servers, by number of replicas that confirmed: ${byAcks.join('/')}`);
  for (let shard = 0; shard < load.shards; shard++) {
    print(`  shard ${shard}: ${summary(load.writes.filter((write) => write.shard === shard))}`);
  }
}
