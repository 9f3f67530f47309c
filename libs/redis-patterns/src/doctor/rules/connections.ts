import { known, Unknown, type NodeFacts } from '../snapshot.js';
import type { ClientLine } from '../collect/parse.js';
import { largest } from '../largest.js';
import { bytesText, defineRule, eachNode, percent, round, sinceText, type Outcome } from './rule.js';

const MB = 1024 * 1024;

/** Sockets of applications: not of replicas, masters, or MONITOR. */
function applications(node: NodeFacts): ClientLine[] {
  return known(node.clients).filter(({ flags }) => !/[SMO]/.test(flags));
}

const clients = defineRule({
  id: 'CON001',
  name: 'clients',
  severities: ['warn', 'error'],
  measured: 'INFO clients: connected_clients / maxclients; CLIENT LIST by application',
  when: 'more than {share} of maxclients are connected (error), or one application has more than {each} on one host',
  why: 'The next client is refused; and each costs memory.',
  advice: 'Share one client in a process; close what is not used; raise maxclients.',
  limits: { share: 0.8, each: 100 },
  *check(snapshot, { share, each }) {
    yield* eachNode(snapshot, function* (node): Generator<Outcome> {
      const info = known(node.info);
      const most = info.number('maxclients');
      const connected = info.number('connected_clients');
      const scope = { node: node.node };
      if (most > 0 && connected > most * share) {
        const evidence = `${connected} of ${most} clients (${percent(connected / most)})`;
        yield { severity: 'error', scope, measured: connected, threshold: round(most * share, 0), evidence };
      }
      const counts = new Map<string, number>();
      for (const { name, host } of applications(node)) {
        const application = `${name.split(':')[0]} ${host}`;
        counts.set(application, (counts.get(application) ?? 0) + 1);
      }
      const biggest = Math.max(0, ...counts.values());
      if (biggest <= each) return;
      yield {
        severity: 'warn',
        scope,
        measured: biggest,
        threshold: each,
        evidence: `${biggest} sockets of one application on one host`,
      };
    });
  },
});

const churn = defineRule({
  id: 'CON002',
  name: 'churn',
  severities: ['warn'],
  measured: 'INFO stats: total_connections_received',
  when: 'more than {perSecond} connections a second are opened (without a window: in the mean, from {uptime} s on)',
  why: 'Each costs a handshake, TLS, AUTH and a file descriptor, for one or two commands.',
  advice: 'Keep connections: one client for the life of a process.',
  limits: { perSecond: 10, uptime: 300 },
  *check(snapshot, { perSecond, uptime }) {
    yield* eachNode(snapshot, function* (node) {
      const counters = known(node.counters);
      const seconds = node.windowMs === undefined ? counters.number('uptime_in_seconds') : node.windowMs / 1000;
      if (node.windowMs === undefined && seconds < uptime) {
        throw new Unknown('the server has just started: this needs a window');
      }
      const rate = counters.number('total_connections_received') / seconds;
      if (rate <= perSecond) return;
      yield {
        severity: 'warn',
        scope: { node: node.node },
        measured: round(rate, 1),
        threshold: perSecond,
        evidence: `${rate.toFixed(1)} new connections a second ${sinceText(node)}`,
      };
    });
  },
});

const unnamed = defineRule({
  id: 'CON003',
  name: 'unnamed',
  severities: ['info'],
  measured: 'CLIENT LIST: name',
  when: 'more than {clients} clients have no name',
  why: 'When something goes wrong nobody knows whose they are.',
  advice: 'Set connectionName (CLIENT SETNAME).',
  limits: { clients: 0 },
  *check(snapshot, limits) {
    yield* eachNode(snapshot, function* (node) {
      const count = applications(node).filter(({ name }) => name === '').length;
      if (count <= limits.clients) return;
      const scope = { node: node.node };
      yield {
        severity: 'info',
        scope,
        measured: count,
        threshold: limits.clients,
        evidence: `${count} clients without a name`,
      };
    });
  },
});

const rejected = defineRule({
  id: 'CON004',
  name: 'rejected',
  severities: ['error'],
  measured: 'INFO stats: rejected_connections',
  when: 'connections were refused for maxclients',
  why: 'Somebody could not connect at all.',
  advice: 'Raise maxclients (and the limit of open files), and see CON001.',
  limits: { connections: 0 },
  *check(snapshot, limits) {
    yield* eachNode(snapshot, function* (node) {
      const count = known(node.counters).number('rejected_connections');
      if (count <= limits.connections) return;
      yield {
        severity: 'error',
        scope: { node: node.node },
        measured: count,
        threshold: limits.connections,
        evidence: `${count} connections were refused ${sinceText(node)}`,
      };
    });
  },
});

const buffers = defineRule({
  id: 'CON005',
  name: 'buffers',
  severities: ['warn', 'error'],
  measured: 'CLIENT LIST: omem, qbuf, tot-mem',
  when: 'a client takes more than {warn} bytes (error: {error} bytes)',
  why: 'It does not read what it is sent, or sends more than can be worked on; the memory is taken from the data.',
  advice: 'Look for a slow subscriber, MONITOR, or a huge pipeline; set client-output-buffer-limit.',
  limits: { warn: MB, error: 10 * MB },
  *check(snapshot, { warn, error }) {
    yield* eachNode(snapshot, function* (node) {
      const sizes = applications(node).map((client) =>
        Math.max(client.outputBytes, client.queryBytes, client.totalBytes),
      );
      const big = sizes.filter((size) => size > warn);
      if (big.length === 0) return;
      const biggest = largest(big);
      yield {
        severity: biggest > error ? 'error' : 'warn',
        scope: { node: node.node },
        measured: biggest,
        threshold: biggest > error ? error : warn,
        evidence: `${big.length} clients, the biggest takes ${bytesText(biggest)}`,
      };
    });
  },
});

const keepalive = defineRule({
  id: 'CON006',
  name: 'keepalive',
  severities: ['warn'],
  measured: 'CONFIG GET tcp-keepalive, timeout',
  when: 'tcp-keepalive is 0, or timeout closes idle clients within {timeout} s',
  why: 'Without keep-alive dead clients stay for ever; with a short timeout live ones are cut between two calls.',
  advice: 'tcp-keepalive 300, timeout 0.',
  limits: { timeout: 300 },
  *check(snapshot, limits) {
    yield* eachNode(snapshot, function* (node): Generator<Outcome> {
      const config = known(node.config);
      const scope = { node: node.node };
      if (config.get('tcp-keepalive') === '0') {
        const commands = ['CONFIG SET tcp-keepalive 300'];
        yield { severity: 'warn', scope, measured: 0, threshold: 300, evidence: 'tcp-keepalive is 0: off', commands };
      }
      const timeout = Number(config.get('timeout') ?? 0);
      if (timeout === 0 || timeout >= limits.timeout) return;
      const evidence = `clients that are idle for ${timeout} s are closed`;
      yield {
        severity: 'warn',
        scope,
        measured: timeout,
        threshold: limits.timeout,
        evidence,
        commands: ['CONFIG SET timeout 0'],
      };
    });
  },
});

/** `<namespace>:<connection>:<role>:<n>`: roles whose sockets must not block. */
const SHARED = /^[^:]+:[^:]+:(?:command|subscriber):\d+$/;

const sharedBlocking = defineRule({
  id: 'CON008',
  name: 'shared-blocking',
  severities: ['error'],
  measured: 'CLIENT LIST: flag b, and the role in the name',
  when: 'a socket that is shared runs a blocking command',
  why: 'Every other call on that socket waits behind it.',
  advice: 'Use connections.withBlocking().',
  limits: {},
  *check(snapshot) {
    yield* eachNode(snapshot, function* (node) {
      const blocked = known(node.clients).filter(({ flags, name }) => flags.includes('b') && SHARED.test(name));
      const names = [...new Set(blocked.map(({ name }) => name.split(':').slice(0, 3).join(':')))].toSorted();
      for (const connection of names) {
        const commands = [
          ...new Set(blocked.filter(({ name }) => name.startsWith(`${connection}:`)).map(({ command }) => command)),
        ];
        const evidence = `blocked in ${commands.join(', ')}`;
        yield {
          severity: 'error',
          scope: { node: node.node, connection },
          measured: commands.length,
          threshold: 0,
          evidence,
        };
      }
    });
  },
});

export const connectionRules = [clients, churn, unnamed, rejected, buffers, keepalive, sharedBlocking];
