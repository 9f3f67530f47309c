import type { DirectServers } from '../../connection/index.js';
import type { Answer, NodeFacts } from '../snapshot.js';
import { Info } from './info.js';
import { pairsOf, parseClients, parseHistogram, parseLatencyEvents, parseSlowlog } from './parse.js';
import type { ReadOnlyClient } from './read-only-client.js';

/** Settings that rules look at. None of them is a secret. */
const SETTINGS = ['appendonly', 'min-replicas-to-write', 'protected-mode', 'save', 'tcp-keepalive', 'timeout'] as const;
const SLOWLOG_ENTRIES = 128;

/** What one server says at once: no command of these looks at keys. */
export type FirstFacts = Omit<NodeFacts, 'counters' | 'windowMs'>;

export function readInfo(client: ReadOnlyClient): Promise<Answer<Info>> {
  return client.ask((reply) => Info.parse(String(reply)), 'INFO', 'all');
}

/** @param socketName name of the doctor's own sockets, which do not count */
export async function readServer(
  client: ReadOnlyClient,
  servers: DirectServers,
  socketName: string,
  timeout: () => number,
): Promise<FirstFacts> {
  const own = (name: string): boolean => name === socketName;
  const [info, config, clients, slowlog, events, latencies, user] = await Promise.all([
    readInfo(client),
    readConfig(client),
    client.ask((reply) => parseClients(String(reply)).filter(({ name }) => !own(name)), 'CLIENT LIST'),
    client.ask((reply) => parseSlowlog(reply, socketName), 'SLOWLOG GET', SLOWLOG_ENTRIES),
    client.ask(parseLatencyEvents, 'LATENCY LATEST'),
    client.ask(parseHistogram, 'LATENCY HISTOGRAM'),
    client.ask(String, 'ACL WHOAMI'),
  ]);
  const open = await readOpenness(client, servers, timeout);
  return { node: client.address, info, config, clients, slowlog, events, latencies, user, open };
}

async function readConfig(client: ReadOnlyClient): Promise<Answer<ReadonlyMap<string, string>>> {
  const answers = await Promise.all(SETTINGS.map((name) => client.ask(pairsOf, 'CONFIG GET', name)));
  const failed = answers.find((answer) => 'reason' in answer);
  if (failed !== undefined && 'reason' in failed) return { reason: failed.reason };
  const settings = answers.flatMap((answer) => ('value' in answer ? [...answer.value] : []));
  return { value: new Map(settings.map(([name, value]) => [name, String(value)])) };
}

/** Whoever gives no credentials and is served says how open a server is; with credentials that has to be tried. */
async function readOpenness(
  client: ReadOnlyClient,
  servers: DirectServers,
  timeout: () => number,
): Promise<Answer<boolean>> {
  if (client.lost !== undefined) return { reason: client.lost };
  if (!servers.authenticates) return { value: true };
  const stranger = await servers.stranger(client.address, timeout);
  if (stranger.client === undefined) {
    return stranger.reason.startsWith('NOAUTH') ? { value: false } : { reason: stranger.reason };
  }
  try {
    await stranger.client.call(['PING']);
    return { value: true };
  } catch (error) {
    const { message } = error as Error;
    return /^(NOAUTH|NOPERM)/.test(message) ? { value: false } : { reason: message };
  } finally {
    stranger.client.close();
  }
}
