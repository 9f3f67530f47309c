import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe } from '@jest/globals';
import {
  startTopology,
  type Mode,
  type PlainConnection,
  type Topology,
  type TopologyOptions,
} from '../../scripts/servers/index.mjs';
import { aclGroups, aclRules, SuiteUser, type AclPattern } from './acl.js';
import { memoryTopology } from './memory.js';
import { RedisAdmin } from './redis-admin.js';

export { startProxies, startProxy, type FaultProxy } from '../../scripts/servers/index.mjs';
export type { Mode, PlainConnection, Topology, TopologyOptions } from '../../scripts/servers/index.mjs';

/** What the shared servers look like to a spec. */
export interface SharedTopology {
  readonly mode: Mode;
  /** For `RedisPatternsModule.forRoot({ connection })`; with the credentials of the suite's `user`, if it has one. */
  readonly connection: PlainConnection;
  /** The same as a URL. */
  readonly url: string;
  /** The servers, for proxies in front of them; the shared ones are not to be stopped, flushed or reconfigured. */
  readonly nodes: readonly { id: string; host: string; port: number }[];
  /** Of this suite alone: suites that run at the same time do not see each other's keys. */
  readonly namespace: string;
  /** A further namespace, which the suite's `user` may use as well. */
  newNamespace(): Promise<string>;
  /** A raw client that may do everything, connected before the first test of the suite and closed after the last. */
  readonly admin: RedisAdmin;
}

/** A deployment by itself, without a suite. */
export type PlainTopology = Pick<SharedTopology, 'mode' | 'connection' | 'url' | 'nodes'>;

export interface SuiteOptions {
  /**
   * The suite connects as the least-privileged user of docs/connections.md for these patterns, and fails if that user
   * was refused anything. Default: the user that may do everything.
   */
  readonly user?: AclPattern | readonly AclPattern[];
}

type Suite = (topology: SharedTopology) => void;

const MODES: readonly Mode[] = ['standalone', 'sentinel', 'cluster'];

/** A namespace that no other suite uses. */
export function uniqueNamespace(): string {
  return `t${randomBytes(5).toString('hex')}`;
}

/**
 * Runs the same suite on each shared deployment (`REDIS_PATTERNS_TOPOLOGIES` may narrow that).
 *
 * @example
 * describeOnEachTopology('cache', { user: 'cache' }, (topology) => {
 *   it('keeps a value', async () => {
 *     const module = await boot({ connection: topology.connection, namespace: topology.namespace });
 *     expect(await topology.admin.keys(`${topology.namespace}:*`)).toEqual([]);
 *   });
 * });
 */
export function describeOnEachTopology(title: string, suite: Suite): void;
export function describeOnEachTopology(title: string, options: SuiteOptions, suite: Suite): void;
export function describeOnEachTopology(title: string, options: SuiteOptions | Suite, suite?: Suite): void {
  for (const mode of selectedModes()) describeOn(mode, title, ...givenOptions(options, suite));
}

/** The same for one deployment, for what only exists there. */
export function describeOn(mode: Mode | 'memory', title: string, suite: Suite): void;
export function describeOn(mode: Mode | 'memory', title: string, options: SuiteOptions, suite: Suite): void;
export function describeOn(mode: Mode | 'memory', title: string, options: SuiteOptions | Suite, suite?: Suite): void {
  const [{ user: patterns }, body] = givenOptions(options, suite);
  // A suite for one kind of deployment only has nothing to say about the one in memory.
  if (mode !== 'memory' && selectedModes().includes('memory')) return;
  describe(`${title} on ${mode}`, () => {
    const shared = sharedTopology(mode);
    const namespace = uniqueNamespace();
    const user =
      patterns === undefined || mode === 'memory' ? undefined : new SuiteUser(shared, [patterns].flat(), namespace);
    let admin: RedisAdmin | undefined;
    beforeAll(async () => {
      admin = await RedisAdmin.connect(shared.connection);
      await user?.create(namespace);
    });
    body({
      ...withCredentials(shared, user?.credentials),
      namespace,
      newNamespace: async () => {
        const another = uniqueNamespace();
        await user?.allow(another);
        return another;
      },
      get admin() {
        if (!admin) throw new Error('`admin` is connected in beforeAll: use it in tests and hooks');
        return admin;
      },
    });
    // Hooks run in the order of their definition: what the suite closes in its own still has its user.
    afterAll(async () => {
      admin?.close();
      await user?.remove();
    });
  });
}

function givenOptions(options: SuiteOptions | Suite, suite: Suite | undefined): [SuiteOptions, Suite] {
  return typeof options === 'function' ? [{}, options] : [options, suite!];
}

function withCredentials(shared: PlainTopology, credentials: SuiteUser['credentials'] | undefined): PlainTopology {
  if (credentials === undefined) return shared;
  const { username, password } = credentials;
  return {
    ...shared,
    connection: { ...shared.connection, username, password },
    url: shared.url.replace('://', `://${username}:${password}@`),
  };
}

/** `user` as for a suite, but in every namespace, and nobody looks for what it was refused; `connection` is its own. */
export type OwnOptions = TopologyOptions & SuiteOptions;

/**
 * Servers of one's own, to kill, freeze or reconfigure. Whoever starts them stops them, in `afterAll` or `finally`.
 *
 * @example
 * const own = await startOwn('cluster');
 * await own.kill(await own.primary());
 * await own.stop();
 */
export function startOwn(mode: Mode, { user, ...options }: OwnOptions = {}): Promise<Topology> {
  if (user === undefined) return startTopology(mode, options);
  // Written into the configuration, so that a restarted server knows the user.
  const appRules = aclRules(aclGroups(mode, [user].flat()), '*');
  return startTopology(mode, { ...options, acl: true, appRules });
}

/** The same for all tests of a suite, with a raw client; both end with it. */
export function useOwn(
  mode: Mode,
  options: OwnOptions = {},
): { readonly topology: Topology; readonly admin: RedisAdmin } {
  let started: { topology: Topology; admin: RedisAdmin } | undefined;
  beforeAll(async () => {
    const topology = await startOwn(mode, options);
    started = { topology, admin: await connectAdmin(topology) };
  });
  afterAll(async () => {
    started?.admin.close();
    await started?.topology.stop();
  });
  const own = () => {
    if (started === undefined) throw new Error('the servers start in beforeAll: use them in tests and hooks');
    return started;
  };
  return {
    get topology() {
      return own().topology;
    },
    get admin() {
      return own().admin;
    },
  };
}

/** A raw client of servers of one's own that may do everything. */
export function connectAdmin(own: Topology): Promise<RedisAdmin> {
  return RedisAdmin.connect({ ...own.connection, ...own.users?.admin });
}

/** The shared deployment of that kind, without a suite around it: shared by the specs of one worker. */
export function sharedTopology(mode: Mode | 'memory'): PlainTopology {
  if (mode === 'memory') return memoryTopology;
  const ofWorkers = JSON.parse(process.env.REDIS_PATTERNS_SHARED ?? '[]') as PlainTopology[][];
  const own = ofWorkers[Number(process.env.JEST_WORKER_ID ?? 1) - 1];
  const found = own?.find((topology) => topology.mode === mode);
  // Never skipped in silence: a green run must have run it.
  if (!found) throw new Error(`No shared ${mode} runs; REDIS_PATTERNS_TOPOLOGIES=${mode} (or unset) starts it`);
  return found;
}

function selectedModes(): readonly (Mode | 'memory')[] {
  const wish = process.env.REDIS_PATTERNS_TOPOLOGIES;
  if (wish === 'memory') return ['memory'];
  if (!wish || wish === 'all' || wish === 'none') return MODES;
  return MODES.filter((mode) => wish.split(',').some((name) => name.trim() === mode));
}
