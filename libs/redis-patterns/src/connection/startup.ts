import { sentinelAuth } from './client-factory.js';
import type { ClientHandle } from './client-handle.js';
import { RedisConnectError } from './connection.errors.js';
import type { ResolvedConnectionOptions, Topology } from './connection.schema.js';
import { diagnose, isTlsFault, type Diagnosis } from './diagnosis.js';
import type { ServerInfo } from './server-info.js';

/** How long `wait` and `fail-fast` give a Redis to answer, milliseconds. */
const STARTUP_TIMEOUT = 5000;
const OLDEST_VERSION = 7;

/**
 * Waits until the client is ready or clearly never will be.
 *
 * @returns `undefined` when ready, else why not: after 5 s the last error that the client saw
 * @throws RedisConnectError for what no waiting mends: credentials, certificates, a wrong topology
 */
export async function awaitReady(
  handle: ClientHandle,
  name: string,
  options: ResolvedConnectionOptions,
): Promise<string | undefined> {
  const outcome = await firstOutcome(handle, options);
  if (outcome === 'ready') return undefined;
  if (typeof outcome === 'object') throw new RedisConnectError(name, outcome.fault, outcome.error);
  if (handle.awaitsPassword) return "the function given as 'password' has not answered";
  const { tls, trouble } = await lookAt(options);
  // It may have become ready in the meantime.
  if (handle.isReady) return undefined;
  if (tls !== undefined) throw new RedisConnectError(name, tlsAdvice(tls), handle.lastError);
  return trouble ?? handle.lastError?.message ?? 'no answer';
}

/** Ready, or faulty for good, or neither within {@link STARTUP_TIMEOUT}. */
function firstOutcome(
  handle: ClientHandle,
  options: ResolvedConnectionOptions,
): Promise<'ready' | 'timeout' | { fault: string; error: Error }> {
  return new Promise((resolve) => {
    const end = (outcome: 'ready' | 'timeout' | { fault: string; error: Error }) => {
      clearTimeout(timer);
      cancelReady();
      unwatch();
      resolve(outcome);
    };
    const unwatch = handle.watchErrors((error) => {
      const fault = permanentFault(error, options);
      if (fault !== undefined) end({ fault, error });
    });
    const timer = setTimeout(() => end('timeout'), STARTUP_TIMEOUT);
    // The attempts to connect keep the process running; when they are given up (a boot that fails elsewhere) nothing should.
    timer.unref();
    let cancelReady = () => {};
    cancelReady = handle.onceReady(() => end('ready'));
  });
}

/** The remedy for an error that stays until somebody changes the options or the server, else `undefined`. */
function permanentFault(error: Error, { topology }: ResolvedConnectionOptions): string | undefined {
  const { message } = error;
  if (/DB index is out of range/.test(message)) return "there is no database of that number; check 'db'";
  if (/^NOPERM.*'select'/.test(message)) {
    return "the user may not SELECT the database; use 'db' 0, or allow the user +select";
  }
  if (/^(WRONGPASS|NOAUTH|NOPERM)|AUTH.*without any password|invalid (?:username-)?password/i.test(message)) {
    return `Redis refused the credentials (${message.split(' ')[0]}); check 'username' and 'password' (for Sentinels: 'sentinel.username', 'sentinel.password')`;
  }
  if (isTlsFault(error)) return tlsAdvice(message);
  if (topology.mode === 'cluster' && /unknown command .?cluster/i.test(message)) {
    return "this is a Sentinel, not a Cluster node; use mode 'sentinel' (or 'redis+sentinel://host:port/<master name>')";
  }
  if (/cluster support disabled/i.test(message)) {
    return `this server is no Cluster node; use mode 'standalone' instead of '${topology.mode}'`;
  }
  if (topology.mode === 'sentinel' && /unknown command/i.test(message)) {
    return "the addresses in 'sentinels' are no Sentinels; give the Sentinels' ports (26379 by default), or use mode 'standalone'";
  }
  return undefined;
}

function tlsAdvice(trouble: string): string {
  return `TLS failed (${trouble}); check 'tls' (its 'ca' and 'servername'; 'sentinel.tls' for the Sentinels) and that both sides use it ('rediss://') or neither`;
}

/** Looks at the first address itself for what ioredis does not tell. */
function lookAt(options: ResolvedConnectionOptions): Promise<Diagnosis> {
  const { topology, tls } = options;
  if (topology.mode === 'standalone') return diagnose({ host: topology.host, port: topology.port }, tls?.reveal());
  if (topology.mode === 'cluster') return diagnose(topology.nodes[0]!, tls?.reveal());
  return diagnose(topology.sentinels[0]!, sentinelAuth(options).tls);
}

/**
 * What is wrong with a server, with the remedy. A part that it does not show is not judged.
 *
 * @returns `undefined` when it can be worked with
 */
export function serverFault({ version, mode, role }: ServerInfo, topology: Topology): string | undefined {
  if (version !== undefined && Number.parseInt(version, 10) < OLDEST_VERSION) {
    return `the server is version ${version}; ${OLDEST_VERSION}.0 or newer is needed`;
  }
  if (mode === 'cluster' && topology.mode !== 'cluster') {
    return `this server is a Cluster node; use mode 'cluster' (or 'redis+cluster://') instead of '${topology.mode}'`;
  }
  if (mode === 'sentinel' && topology.mode === 'standalone') {
    return "this is a Sentinel, not a server; use mode 'sentinel' (or 'redis+sentinel://host:port/<master name>')";
  }
  if (role === 'slave' && topology.mode === 'standalone') {
    return "this server is a replica and takes no writes; give the master's address, or the Sentinels' (mode 'sentinel')";
  }
  return undefined;
}

const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|::1|\[::1\])$/i;

/** Passwords and values go in clear to another machine, and nobody has said that this is meant. */
export function plainTextWarning({ topology, tls, plainText, ioredis }: ResolvedConnectionOptions): string | undefined {
  if (tls !== undefined || plainText || ioredis?.path !== undefined) return undefined;
  if (hostsOf(topology).every((host) => LOOPBACK.test(host))) return undefined;
  return "sends passwords and values in clear to another host; use 'rediss://' (or 'tls: true'), or say 'tls: false' where the network is trusted";
}

function hostsOf(topology: Topology): readonly string[] {
  if (topology.mode === 'standalone') return [topology.host];
  return (topology.mode === 'sentinel' ? topology.sentinels : topology.nodes).map(({ host }) => host);
}
