// @ts-check
import { ServerProcess } from './process.mjs';
import { redisLines } from './redis-config.mjs';
import { clientSecurity } from './security.mjs';
import { onlineReplicas } from './sentinel.mjs';
import { GiveUp, until } from './wait.mjs';

const MASTERS = 3;
const SLOTS = 16_384;

/**
 * @typedef {object} ClusterOptions
 * @property {number} [replicasPerMaster] 1 by default
 * @property {number} [nodeTimeout] milliseconds after which a silent node counts as failing, 1000 by default
 */

/**
 * Three masters with a replica each. About two seconds: a node refuses writes for that long after its start.
 *
 * @param {import('./process.mjs').Runtime} runtime
 * @param {import('./redis-config.mjs').RedisOptions & ClusterOptions} [options]
 */
export async function startCluster(runtime, options = {}) {
  const { replicasPerMaster = 1, nodeTimeout = 1000 } = options;
  const count = MASTERS * (1 + replicasPerMaster);
  const starts = await Promise.allSettled(
    Array.from({ length: count }, (_, index) => startNode(runtime, index, { ...options, nodeTimeout })),
  );
  const nodes = starts.flatMap((start) => (start.status === 'fulfilled' ? [start.value] : []));
  try {
    for (const start of starts) if (start.status === 'rejected') throw start.reason;
    await join(nodes, replicasPerMaster);
    return describe(runtime, nodes);
  } catch (error) {
    await Promise.all(nodes.map((node) => node.stop()));
    throw error;
  }
}

/**
 * @param {import('./process.mjs').Runtime} runtime
 * @param {number} index
 * @param {import('./redis-config.mjs').RedisOptions & { nodeTimeout: number }} options
 */
function startNode(runtime, index, options) {
  const extra = [
    'cluster-enabled yes',
    'cluster-config-file nodes.conf',
    `cluster-node-timeout ${options.nodeTimeout}`,
    // Else clients that were given a name find a node without an address in the slot table and never get ready.
    'cluster-announce-ip 127.0.0.1',
    // A replica that was cut off for a while is still better than no master in a test.
    'cluster-replica-validity-factor 0',
  ];
  if (runtime.tls) extra.push('tls-cluster yes');
  return ServerProcess.start(runtime, {
    id: `node-${index + 1}`,
    cluster: true,
    config: (place) => redisLines(runtime, place, { ...options, extra }),
  });
}

/**
 * @param {readonly ServerProcess[]} nodes the first three become masters
 * @param {number} replicasPerMaster
 */
async function join(nodes, replicasPerMaster) {
  const masters = nodes.slice(0, MASTERS);
  await Promise.all(
    nodes.map(async (node, index) => {
      await node.command('CLUSTER', 'SET-CONFIG-EPOCH', index + 1);
      if (index >= MASTERS) return;
      const first = Math.ceil((SLOTS * index) / MASTERS);
      await node.command('CLUSTER', 'ADDSLOTSRANGE', first, Math.ceil((SLOTS * (index + 1)) / MASTERS) - 1);
    }),
  );
  // A full mesh at once: to learn of each other by gossip takes seconds more.
  await Promise.all(
    nodes.flatMap((node) =>
      nodes.filter((other) => other !== node).map((other) => node.command('CLUSTER', 'MEET', other.host, other.port)),
    ),
  );
  const ids = await Promise.all(masters.map((master) => master.command('CLUSTER', 'MYID')));
  await Promise.all(
    nodes
      .slice(MASTERS)
      .map((replica, index) =>
        until(`${replica.id} to know its master`, () => replica.command('CLUSTER', 'REPLICATE', ids[index % MASTERS])),
      ),
  );
  await ready(nodes, replicasPerMaster);
}

/**
 * `cluster_state:ok` alone is too early: a master killed then has no replica that can be elected.
 *
 * @param {readonly ServerProcess[]} nodes
 * @param {number} replicasPerMaster
 */
async function ready(nodes, replicasPerMaster) {
  await Promise.all(
    nodes.map((node, index) =>
      until(
        `${node.id} to be a working part of the cluster`,
        async () => {
          const state = await clusterInfo(node);
          if (state.cluster_state !== 'ok' || Number(state.cluster_known_nodes) !== nodes.length) return false;
          const replication = await node.info('replication');
          return index < MASTERS
            ? onlineReplicas(replication) === replicasPerMaster
            : replication.master_link_status === 'up';
        },
        { timeout: 20_000, interval: 25 },
      ),
    ),
  );
}

/**
 * @param {ServerProcess} node
 * @returns {Promise<Record<string, string>>}
 */
async function clusterInfo(node) {
  const lines = String(await node.command('CLUSTER', 'INFO')).split('\r\n');
  return Object.fromEntries(lines.map((line) => line.split(':')));
}

/**
 * @param {import('./process.mjs').Runtime} runtime
 * @param {ServerProcess[]} nodes
 */
function describe(runtime, nodes) {
  const { options: security, scheme, login } = clientSecurity(runtime);
  return {
    mode: /** @type {const} */ ('cluster'),
    url: `${scheme}+cluster://${login}${nodes.map((node) => node.address).join(',')}`,
    connection: {
      mode: /** @type {const} */ ('cluster'),
      nodes: nodes.map(({ host, port }) => ({ host, port })),
      ...security,
    },
    nodes,
    sentinels: /** @type {ServerProcess[]} */ ([]),
    masters: () => currentMasters(nodes),
    /**
     * Promotes the replica of the first master (or of the given one), without a crash.
     *
     * @param {ServerProcess} [master]
     * @returns {Promise<ServerProcess>} the promoted node
     */
    failover: (master) => failover(nodes, master),
  };
}

/**
 * Running nodes that serve slots, in the order of their slots.
 *
 * @param {readonly ServerProcess[]} nodes
 * @returns {Promise<ServerProcess[]>}
 */
async function currentMasters(nodes) {
  const observer = nodes.find((node) => node.state === 'running');
  if (!observer) throw new Error('No node of the cluster runs');
  /** @type {[number, number, [string, number]][]} */
  const slots = await observer.command('CLUSTER', 'SLOTS');
  const ports = slots.toSorted((a, b) => a[0] - b[0]).map((range) => range[2][1]);
  return [...new Set(ports)].flatMap((port) => nodes.filter((node) => node.port === port && node.state === 'running'));
}

/**
 * @param {readonly ServerProcess[]} nodes
 * @param {ServerProcess} [wanted]
 */
async function failover(nodes, wanted) {
  const master = wanted ?? (await currentMasters(nodes))[0];
  if (!master) throw new Error('The cluster has no master to replace');
  const replica = await replicaOf(nodes, master);
  await replica.command('CLUSTER', 'FAILOVER');
  return until(
    `${replica.id} to be the master in everybody's eyes`,
    async () => {
      const running = nodes.filter((node) => node.state === 'running');
      const views = await Promise.all(running.map((node) => currentMasters([node, ...running])));
      return views.every((masters) => masters.includes(replica) && !masters.includes(master)) && replica;
    },
    { timeout: 15_000, interval: 50 },
  );
}

/**
 * @param {readonly ServerProcess[]} nodes
 * @param {ServerProcess} master
 */
async function replicaOf(nodes, master) {
  return until(`a replica of ${master.id} to be in step`, async () => {
    for (const node of nodes) {
      if (node === master || node.state !== 'running') continue;
      const replication = await node.info('replication');
      const follows = Number(replication.master_port) === master.port;
      if (follows && replication.master_link_status === 'up') return node;
    }
    if (nodes.every((node) => node.state !== 'running')) throw new GiveUp(new Error('No node of the cluster runs'));
    return false;
  });
}
