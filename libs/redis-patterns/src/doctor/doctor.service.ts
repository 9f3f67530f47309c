import {
  RedisConnectError,
  resolveConnectionOptions,
  DirectServers,
  type ConnectionOptions,
  type ConnectionStats,
  type DirectServer,
} from '../connection/index.js';
import { Deadline, onAbort } from '../core/index.js';
import type { Hold } from '../telemetry/index.js';
import { askQuorum, examineNode, type NodeExamination } from './collect/examination.js';
import { ReadOnlyClient } from './collect/read-only-client.js';
import {
  resolveDoctorOptions,
  resolveExamination,
  type ExamineOptions,
  type ResolvedDoctorOptions,
} from './doctor.options.js';
import type { DoctorReport } from './doctor.report.js';
import { judge } from './judge.js';
import { clientFacts, connectionFacts } from './client-facts.js';
import { groupKeys } from './prefixes/group-keys.js';
import { takeSnapshot, toReport } from './summary.js';
import type { ApplicationFacts, Answer } from './snapshot.js';

/** What is examined. */
export interface DoctorTarget {
  /** Name of the connection, for errors. */
  readonly name: string;
  /** Namespace of the application, if it is known. */
  readonly namespace: string | undefined;
  /** Sockets of their own; the doctor closes them. */
  servers(): DirectServers;
  /** State of the application's own connection, inside an application. */
  stats?(): ConnectionStats;
  /** What the application leases now. */
  holds?(): Iterable<Hold>;
}

type OwnersOf = (namespace: string) => ReadonlyMap<string, string>;

/** Longest time for one command, milliseconds. A server that needs longer hangs. */
const COMMAND_TIMEOUT = 2000;

/**
 * Looks for anti-patterns in a live Redis: settings, counters and a sample of the keys against a catalogue of rules. It only
 * reads, within limits of keys, time and load, and tells beginnings of keys and numbers, no values.
 *
 * @example
 * ```ts
 * const report = await doctor.examine({ window: '10s' });
 * if (report.failed) logger.warn(report.findings.map(({ id, evidence }) => `${id}: ${evidence}`).join('\n'));
 * ```
 */
export class DoctorService {
  readonly #closing = new AbortController();
  #ownersOf: OwnersOf = () => new Map();

  constructor(
    private readonly target: DoctorTarget,
    private readonly options: ResolvedDoctorOptions,
  ) {}

  /**
   * A doctor without an application.
   *
   * @param connection a URL or connection options
   * @param namespace of the application whose keys are there, if there is one
   * @throws InvalidOptionsError
   */
  static forConnection(
    connection: string | ConnectionOptions,
    { namespace }: { namespace?: string | undefined } = {},
  ): DoctorService {
    const where = 'DoctorService.forConnection()';
    const resolved = resolveConnectionOptions(connection, where, 'connection');
    const socketName = `${namespace ?? 'nestjs-redis-patterns'}:default:doctor:0`;
    const target = { name: 'default', namespace, servers: () => new DirectServers(resolved, socketName) };
    return new DoctorService(target, resolveDoctorOptions({}, where));
  }

  /**
   * Lets the application say which decorated methods keep keys under which beginning.
   *
   * @internal
   */
  knowMethods(ownersOf: OwnersOf): void {
    this.#ownersOf = ownersOf;
  }

  /**
   * Examines the servers once: every master of a Cluster, the master that Sentinels name, or the one server. Redis that hangs or
   * dies on the way gives a report that says so.
   *
   * @throws InvalidOptionsError for options that cannot work
   * @throws RedisConnectError when no server can be reached
   * @throws `signal.reason` when the signal aborts; no connection is left
   */
  async examine(options: ExamineOptions = {}): Promise<DoctorReport> {
    const examination = resolveExamination(options, this.options, 'DoctorService.examine()');
    const startedAt = new Date();
    const began = performance.now();
    const signal = AbortSignal.any([this.#closing.signal, ...(options.signal === undefined ? [] : [options.signal])]);
    signal.throwIfAborted();
    const servers = this.target.servers();
    const stop = onAbort(signal, () => servers.close());
    try {
      const report = await this.#examine(servers, { ...examination, signal });
      return { ...report, startedAt: startedAt.toISOString(), elapsedMs: Math.round(performance.now() - began) };
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    } finally {
      stop();
      servers.close();
    }
  }

  /** Ends what runs. */
  close(): Promise<void> {
    this.#closing.abort(new Error('the doctor was closed'));
    return Promise.resolve();
  }

  async #examine(servers: DirectServers, options: Examination): Promise<DoctorReport> {
    const deadline = Deadline.after(options.maxTime);
    const timeout = (): number => Math.min(COMMAND_TIMEOUT, deadline.remaining());
    const masters = await this.#connect(servers, timeout, options.signal);
    const reached = masters.flatMap(({ client }) => (client === undefined ? [] : [new ReadOnlyClient(client)]));
    const progress = progressOf(reached.length, options);
    const [quorum, ...nodes] = await Promise.all([
      askQuorum(servers, timeout, options.signal),
      ...reached.map((client, index) =>
        examineNode(client, {
          servers,
          socketName: servers.socketName,
          options,
          deadline,
          timeout,
          maxKeys: Math.ceil(options.maxKeys / reached.length),
          progress: (keys, of) => progress(index, keys, of),
        }),
      ),
    ] as const);
    options.signal.throwIfAborted();
    return this.#report(servers, options, masters, nodes, quorum);
  }

  #report(
    servers: DirectServers,
    options: Examination,
    masters: readonly DirectServer[],
    nodes: readonly NodeExamination[],
    quorum: Answer<{ ok: boolean; usable: number; text: string }> | undefined,
  ): DoctorReport {
    const { namespace } = this.target;
    const owners = namespace === undefined ? new Map<string, string>() : this.#ownersOf(namespace);
    const grouping = groupKeys(
      nodes.flatMap(({ sample }) => sample.keys),
      { namespace, classify: options.classify, owners },
    );
    const application = this.#applicationFacts(options);
    const { plainText } = servers;
    const snapshot = takeSnapshot({
      masters,
      nodes,
      grouping,
      quorum,
      plainText,
      application,
      windowMs: options.window,
    });
    return toReport(servers.mode, masters, nodes, snapshot, judge(snapshot, options));
  }

  #applicationFacts({ clients }: Examination): ApplicationFacts | undefined {
    const { name, stats, holds } = this.target;
    if (stats === undefined && clients === undefined) return undefined;
    const connections = stats === undefined ? [] : [connectionFacts(name, stats())];
    return { connections, clients: clientFacts(clients ?? {}), holds: holds && [...holds()] };
  }

  async #connect(servers: DirectServers, timeout: () => number, signal: AbortSignal): Promise<DirectServer[]> {
    let reason: string;
    try {
      const masters = await servers.masters(timeout, signal);
      if (masters.some(({ client }) => client !== undefined)) return masters;
      reason = masters[0]?.reason ?? 'there is none';
    } catch (error) {
      signal.throwIfAborted();
      reason = (error as Error).message;
    }
    throw new RedisConnectError(
      this.target.name,
      `no master can be examined (${reason}); check the address, the credentials, TLS, and that Redis runs there`,
    );
  }
}

type Examination = ReturnType<typeof resolveExamination> & { readonly signal: AbortSignal };

/** Adds up what the servers tell. */
function progressOf(
  nodes: number,
  { onProgress, maxKeys }: Examination,
): (node: number, keys: number, of: number) => void {
  const seen = Array.from({ length: nodes }, () => ({ keys: 0, of: 0 }));
  return (node, keys, of) => {
    seen[node] = { keys, of };
    const total = seen.reduce((sum, each) => ({ keys: sum.keys + each.keys, of: sum.of + each.of }));
    onProgress?.({ keys: total.keys, of: Math.min(total.of, maxKeys) });
  };
}
