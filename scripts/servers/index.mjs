// @ts-check
import { findServer, findTie } from './binary.mjs';
import { makeCertificates } from './certificates.mjs';
import { startCluster } from './cluster.mjs';
import { sweepFolders } from './folders.mjs';
import { makeUsers } from './security.mjs';
import { startSentinel } from './sentinel.mjs';
import { startStandalone } from './standalone.mjs';
import { until } from './wait.mjs';

export { cacheFolder, findServer, findTie, ServerNotFoundError } from './binary.mjs';
export { makeCertificates } from './certificates.mjs';
export { ServerProcess } from './process.mjs';
export { FaultProxy, startProxies, startProxy } from './proxy.mjs';
export { RespError } from './resp.mjs';
export { until } from './wait.mjs';

/** @typedef {'standalone' | 'sentinel' | 'cluster'} Mode */
/** @typedef {import('./process.mjs').ServerProcess} Node */

/**
 * @typedef {object} SecurityOptions
 * @property {boolean} [tls] TLS only, with an authority made for this run
 * @property {boolean} [acl] no default user; users `admin` and `app`
 * @property {'pdeathsig' | 'pipe'} [tie] how the servers are tied to this process; found out by default
 * @property {import('./binary.mjs').ServerBinary} [binary] found or obtained by default
 * @property {(line: string) => void} [progress] standard error by default
 *
 * @typedef {SecurityOptions & import('./redis-config.mjs').RedisOptions & import('./sentinel.mjs').SentinelOptions
 *   & import('./cluster.mjs').ClusterOptions} TopologyOptions
 */

/**
 * Options for `RedisPatternsModule.forRoot({ connection })`; plain JSON.
 *
 * @typedef {object} PlainSecurity
 * @property {string} [username]
 * @property {string} [password]
 * @property {{ ca: string }} [tls]
 *
 * @typedef {PlainSecurity & (
 *   | { mode: 'standalone', host: string, port: number }
 *   | { mode: 'sentinel', sentinels: { host: string, port: number }[], name: string, sentinel?: PlainSecurity }
 *   | { mode: 'cluster', nodes: { host: string, port: number }[] })} PlainConnection
 */

/**
 * A running deployment, owned by who started it.
 *
 * @typedef {object} Topology
 * @property {Mode} mode
 * @property {PlainConnection} connection
 * @property {string} url the same as `connection`, as a URL
 * @property {Node[]} nodes the servers that hold data
 * @property {Node[]} sentinels
 * @property {import('./security.mjs').Users} [users] with `acl`
 * @property {import('./certificates.mjs').Certificates} [tls] with `tls`
 * @property {import('./binary.mjs').ServerBinary} binary
 * @property {() => Promise<Node>} primary the master (Cluster: the one with the lowest slots); waits for an election
 * @property {() => Promise<Node[]>} masters
 * @property {(node: Node) => Promise<void>} kill SIGKILL
 * @property {(node: Node) => void} freeze SIGSTOP
 * @property {(node: Node) => void} resume SIGCONT
 * @property {(node: Node, options?: { data?: 'keep' | 'wipe', loading?: boolean }) => Promise<void>} restart on the same port
 * @property {(master?: Node) => Promise<Node>} failover on command, without a crash; the new master
 * @property {() => Promise<void>} stop idempotent
 */

/**
 * Starts servers on free loopback ports and waits until they can be used. They end with this process, whatever ends it.
 *
 * @param {Mode} mode
 * @param {TopologyOptions} [options]
 * @returns {Promise<Topology>} rejects with ServerNotFoundError when there is no server program
 * @example
 * const topology = await startTopology('cluster', { acl: true });
 * await topology.kill(await topology.primary());
 * await topology.stop();
 */
export async function startTopology(mode, options = {}) {
  await sweepFolders();
  const runtime = {
    binary: options.binary ?? (await findServer({ progress: options.progress })),
    tie: options.tie ?? findTie(),
    tls: options.tls ? await makeCertificates() : undefined,
    users: options.acl ? makeUsers() : undefined,
  };
  const start = { standalone: startStandalone, sentinel: startSentinel, cluster: startCluster }[mode];
  if (!start) throw new Error(`Unknown mode ${JSON.stringify(mode)}: use standalone, sentinel or cluster`);
  const started = await start(runtime, options);
  const { nodes, sentinels, masters } = started;
  return {
    ...started,
    ...(runtime.users && { users: runtime.users }),
    ...(runtime.tls && { tls: runtime.tls }),
    binary: runtime.binary,
    primary: () => until('a master', async () => (await masters())[0], { timeout: 20_000, interval: 25 }),
    kill: (node) => node.kill(),
    freeze: (node) => node.freeze(),
    resume: (node) => node.resume(),
    restart: (node, how) => node.restart(how),
    stop: async () => void (await Promise.all([...sentinels, ...nodes].map((node) => node.stop()))),
  };
}

/**
 * What other processes need to know of a topology; plain JSON.
 *
 * @param {Topology} topology
 */
export function describeTopology({ mode, connection, url, nodes }) {
  return { mode, connection, url, nodes: nodes.map(({ id, host, port }) => ({ id, host, port })) };
}
