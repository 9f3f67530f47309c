import type { ClientHandle } from './client-handle.js';
import { RedisConnectError } from './connection.errors.js';
import type { ResolvedConnectionOptions, Topology } from './connection.schema.js';
import type { RedisClient } from './redis-connection.js';

/** How long `wait` and `fail-fast` give a Redis to answer, milliseconds. */
export const STARTUP_TIMEOUT = 5000;
const OLDEST_VERSION = 7;

/**
 * Waits until the client is ready or clearly never will be.
 *
 * @returns `undefined` when ready, else why not: after {@link STARTUP_TIMEOUT} the last error that the client saw
 * @throws RedisConnectError for what no waiting mends: credentials, certificates, a wrong topology
 */
export function awaitReady(
  handle: ClientHandle,
  name: string,
  options: ResolvedConnectionOptions,
): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const end = (action: () => void) => {
      clearTimeout(timer);
      cancelReady();
      unwatch();
      action();
    };
    const unwatch = handle.watchErrors((error) => {
      const fault = permanentFault(error, options);
      if (fault !== undefined) end(() => reject(new RedisConnectError(name, fault, error)));
    });
    const timer = setTimeout(() => end(() => resolve(handle.lastError?.message ?? 'no answer')), STARTUP_TIMEOUT);
    // The attempts to connect keep the process running; when they are given up (a boot that fails elsewhere) nothing should.
    timer.unref();
    let cancelReady = () => {};
    cancelReady = handle.onceReady(() => end(() => resolve(undefined)));
  });
}

const TLS_FAULTS =
  /self[- ]signed|unable to (?:verify|get)|certificate|CERT_|ERR_TLS|wrong version number|ERR_SSL|packet length too long/i;

/** The remedy for an error that stays until somebody changes the options or the server, else `undefined`. */
function permanentFault(error: Error, { topology, tls }: ResolvedConnectionOptions): string | undefined {
  const { message } = error;
  const code = 'code' in error ? String(error.code) : '';
  if (/^(WRONGPASS|NOAUTH|NOPERM)|AUTH.*without any password|invalid (?:username-)?password/i.test(message)) {
    return `Redis refused the credentials (${message.split(' ')[0]}); check 'username' and 'password' (for Sentinels: 'sentinel.username', 'sentinel.password')`;
  }
  if (TLS_FAULTS.test(message) || TLS_FAULTS.test(code)) {
    return `TLS failed (${message}); check 'tls' (its 'ca' and 'servername') and that the port speaks TLS${tls === undefined ? ", or use 'rediss://'" : ''}`;
  }
  if (/cluster support disabled/i.test(message)) {
    return `this server is no Cluster node; use mode 'standalone' instead of '${topology.mode}'`;
  }
  if (topology.mode === 'sentinel' && /unknown command/i.test(message)) {
    return "the addresses in 'sentinels' are no Sentinels; give the Sentinels' ports (26379 by default), or use mode 'standalone'";
  }
  return undefined;
}

/**
 * Compares the server with what was configured. A server that does not show its INFO is not judged.
 *
 * @throws RedisConnectError when the version or the topology cannot work
 */
export async function checkServer(client: RedisClient, name: string, topology: Topology): Promise<void> {
  let info: string;
  try {
    info = await client.info('server');
  } catch {
    return;
  }
  const version = /^(?:redis|valkey)_version:(.+)$/m.exec(info)?.[1]?.trim();
  const mode = /^(?:redis|server)_mode:(\w+)$/m.exec(info)?.[1];
  if (version !== undefined && Number.parseInt(version, 10) < OLDEST_VERSION) {
    throw new RedisConnectError(name, `the server is version ${version}; ${OLDEST_VERSION}.0 or newer is needed`);
  }
  if (mode === 'cluster' && topology.mode !== 'cluster') {
    throw new RedisConnectError(
      name,
      `this server is a Cluster node; use mode 'cluster' (or 'redis+cluster://') instead of '${topology.mode}'`,
    );
  }
  if (mode === 'sentinel' && topology.mode === 'standalone') {
    throw new RedisConnectError(
      name,
      "this is a Sentinel, not a server; use mode 'sentinel' (or 'redis+sentinel://host:port/<master name>')",
    );
  }
}
