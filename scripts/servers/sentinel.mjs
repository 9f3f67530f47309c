// @ts-check
import { ServerProcess } from './process.mjs';
import { redisLines } from './redis-config.mjs';
import { parseInfo } from './resp.mjs';
import { clientSecurity, commonLines } from './security.mjs';
import { until } from './wait.mjs';

const REPLICAS = 2;
const SENTINELS = 3;

/**
 * @typedef {object} SentinelOptions
 * @property {string} [name] of the master, 'main' by default
 * @property {number} [downAfter] milliseconds of silence after which a master counts as down, 500 by default
 */

/**
 * One master, two replicas, three sentinels.
 *
 * @param {import('./process.mjs').Runtime} runtime
 * @param {import('./redis-config.mjs').RedisOptions & SentinelOptions} [options]
 */
export async function startSentinel(runtime, options = {}) {
  const { name = 'main', downAfter = 500 } = options;
  /** @type {ServerProcess[]} */
  const started = [];
  try {
    const nodes = await startReplication(runtime, options, started);
    const master = /** @type {ServerProcess} */ (nodes[0]);
    const sentinels = await startAll(SENTINELS, started, (index) =>
      ServerProcess.start(runtime, {
        id: `sentinel-${index + 1}`,
        kind: 'sentinel',
        config: (place) => sentinelLines(runtime, place, { name, downAfter, master }),
      }),
    );
    await meet(sentinels, name, runtime.binary.version[0] >= 7);
    return describe(runtime, name, nodes, sentinels);
  } catch (error) {
    await Promise.all(started.map((server) => server.stop()));
    throw error;
  }
}

/**
 * @param {number} count
 * @param {ServerProcess[]} started collects what runs, so that a failure can stop it
 * @param {(index: number) => Promise<ServerProcess>} start
 */
async function startAll(count, started, start) {
  const servers = await Promise.allSettled(
    Array.from({ length: count }, async (_, index) => {
      const server = await start(index);
      started.push(server);
      return server;
    }),
  );
  return servers.map((result) => {
    if (result.status === 'rejected') throw result.reason;
    return result.value;
  });
}

/**
 * @param {import('./process.mjs').Runtime} runtime
 * @param {import('./redis-config.mjs').RedisOptions} options
 * @param {ServerProcess[]} started
 */
async function startReplication(runtime, options, started) {
  const nodes = await startAll(1 + REPLICAS, started, (index) =>
    ServerProcess.start(runtime, {
      id: `redis-${index + 1}`,
      config: (place) => redisLines(runtime, place, options),
    }),
  );
  const [master, ...replicas] = /** @type {[ServerProcess, ...ServerProcess[]]} */ (nodes);
  await Promise.all(replicas.map((replica) => replica.command('REPLICAOF', master.host, master.port)));
  // A sentinel that first looks while a replica still synchronises learns of it only ten seconds later.
  await until('both replicas to be online', async () => onlineReplicas(await master.info('replication')) === REPLICAS);
  return nodes;
}

/** @param {Record<string, string>} replication */
export function onlineReplicas(replication) {
  return Object.entries(replication).filter(([key, value]) => /^slave\d+$/.test(key) && value.includes('state=online'))
    .length;
}

/**
 * @param {import('./process.mjs').Runtime} runtime
 * @param {{ dir: string, port: number }} place
 * @param {{ name: string, downAfter: number, master: ServerProcess }} watched
 */
async function sentinelLines(runtime, place, { name, downAfter, master }) {
  const lines = await commonLines(runtime, place);
  lines.push(`sentinel monitor ${name} ${master.host} ${master.port} 2`);
  lines.push(`sentinel down-after-milliseconds ${name} ${downAfter}`);
  lines.push(`sentinel failover-timeout ${name} 3000`, `sentinel parallel-syncs ${name} ${REPLICAS}`);
  if (runtime.users) {
    const { username, password } = runtime.users.admin;
    lines.push(`sentinel auth-user ${name} ${username}`, `sentinel auth-pass ${name} ${password}`);
    lines.push(`sentinel sentinel-user ${username}`, `sentinel sentinel-pass ${password}`);
  }
  return lines;
}

const PERIODS = ['info-period', 'publish-period', 'ping-period', 'ask-period'];
const QUICK = [200, 100, 100, 100];
const NORMAL = [10_000, 2000, 1000, 1000];

/**
 * Waits until every sentinel knows the whole picture.
 *
 * The periods are short only while they meet: left short, they run in lockstep, split their votes, and a failover
 * takes up to half a minute now and then.
 *
 * @param {readonly ServerProcess[]} sentinels
 * @param {string} name
 * @param {boolean} adjustable
 */
async function meet(sentinels, name, adjustable) {
  /** @param {readonly number[]} values */
  const setPeriods = async (values) => {
    if (!adjustable) return;
    const pairs = PERIODS.flatMap((period, index) => [period, Number(values[index])]);
    await Promise.all(sentinels.map((sentinel) => sentinel.command('SENTINEL', 'DEBUG', ...pairs)));
  };
  await setPeriods(QUICK);
  try {
    await until('the sentinels to know each other', () => allInformed(sentinels, name), {
      timeout: 25_000,
      interval: 20,
    });
  } finally {
    await setPeriods(NORMAL);
  }
}

/**
 * @param {readonly ServerProcess[]} sentinels
 * @param {string} name
 */
async function allInformed(sentinels, name) {
  const views = await Promise.all(sentinels.map((sentinel) => view(sentinel, name)));
  return views.every(
    (master) =>
      master['num-slaves'] === String(REPLICAS) &&
      master['num-other-sentinels'] === String(SENTINELS - 1) &&
      master.flags === 'master',
  );
}

/**
 * @param {ServerProcess} sentinel
 * @param {string} name
 * @returns {Promise<Record<string, string>>}
 */
async function view(sentinel, name) {
  /** @type {string[]} */
  const pairs = await sentinel.command('SENTINEL', 'MASTER', name);
  /** @type {Record<string, string>} */
  const fields = {};
  for (let index = 0; index < pairs.length; index += 2) fields[String(pairs[index])] = String(pairs[index + 1]);
  return fields;
}

/**
 * @param {import('./process.mjs').Runtime} runtime
 * @param {string} name
 * @param {ServerProcess[]} nodes
 * @param {ServerProcess[]} sentinels
 */
function describe(runtime, name, nodes, sentinels) {
  const { options: security, scheme, login } = clientSecurity(runtime);
  const addresses = sentinels.map(({ host, port }) => ({ host, port }));
  const sentinelSecurity = Object.keys(security).length > 0 ? { sentinel: security } : {};
  const masters = async () => [await currentMaster(nodes, sentinels, name)];
  return {
    mode: /** @type {const} */ ('sentinel'),
    url: `${scheme}+sentinel://${login}${sentinels.map((each) => each.address).join(',')}/${name}/0`,
    connection: {
      mode: /** @type {const} */ ('sentinel'),
      sentinels: addresses,
      name,
      ...security,
      ...sentinelSecurity,
    },
    nodes,
    sentinels,
    masters,
    /**
     * A failover on command, without a crash.
     *
     * @returns {Promise<ServerProcess>} the new master, once it and the sentinels agree
     */
    failover: async () => {
      const before = await currentMaster(nodes, sentinels, name);
      await until('a sentinel to begin the failover', () => anyOf(sentinels).command('SENTINEL', 'FAILOVER', name), {
        timeout: 20_000,
        interval: 200,
      });
      return until(
        'another master to be elected',
        async () => {
          const now = await currentMaster(nodes, sentinels, name);
          return now !== before && onlineReplicas(await now.info('replication')) >= 1 && now;
        },
        { timeout: 30_000, interval: 50 },
      );
    },
  };
}

/** @param {readonly ServerProcess[]} servers */
function anyOf(servers) {
  const running = servers.find((server) => server.state === 'running');
  if (!running) throw new Error('No sentinel runs');
  return running;
}

/**
 * The master that the sentinels name and that sees itself as one.
 *
 * @param {readonly ServerProcess[]} nodes
 * @param {readonly ServerProcess[]} sentinels
 * @param {string} name
 * @returns {Promise<ServerProcess>}
 */
async function currentMaster(nodes, sentinels, name) {
  const [, port] = await anyOf(sentinels).command('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', name);
  const master = nodes.find((node) => node.port === Number(port));
  if (!master) throw new Error(`The sentinels name a master on port ${port}, which is none of ours`);
  const { role } = parseInfo(await master.command('INFO', 'replication'));
  if (role !== 'master') throw new Error(`${master.id} is named as master but says that it is ${role}`);
  return master;
}
