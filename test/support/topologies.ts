import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe } from '@jest/globals';
import {
  startTopology,
  type Mode,
  type PlainConnection,
  type Topology,
  type TopologyOptions,
} from '../../scripts/servers/index.mjs';
import { RedisAdmin } from './redis-admin.js';

export { startProxies, startProxy, type FaultProxy } from '../../scripts/servers/index.mjs';
export type { Mode, PlainConnection, Topology, TopologyOptions } from '../../scripts/servers/index.mjs';

/** What the shared servers look like to a spec. */
export interface SharedTopology {
  readonly mode: Mode;
  /** For `RedisPatternsModule.forRoot({ connection })`. */
  readonly connection: PlainConnection;
  /** The same as a URL. */
  readonly url: string;
  /** The servers, for proxies in front of them; the shared ones are not to be stopped, flushed or reconfigured. */
  readonly nodes: readonly { id: string; host: string; port: number }[];
  /** Of this suite alone: suites that run at the same time do not see each other's keys. */
  readonly namespace: string;
  /** A raw client, connected before the first test of the suite and closed after the last. */
  readonly admin: RedisAdmin;
}

const MODES: readonly Mode[] = ['standalone', 'sentinel', 'cluster'];

/** A namespace that no other suite uses. */
export function uniqueNamespace(): string {
  return `t${randomBytes(5).toString('hex')}`;
}

/**
 * Runs the same suite on each shared deployment (`REDIS_PATTERNS_TOPOLOGIES` may narrow that).
 *
 * @example
 * describeOnEachTopology('cache', (topology) => {
 *   it('keeps a value', async () => {
 *     const module = await boot({ connection: topology.connection, namespace: topology.namespace });
 *     expect(await topology.admin.keys(`${topology.namespace}:*`)).toEqual([]);
 *   });
 * });
 */
export function describeOnEachTopology(title: string, suite: (topology: SharedTopology) => void): void {
  for (const mode of selectedModes()) describeOn(mode, title, suite);
}

/** The same for one deployment, for what only exists there. */
export function describeOn(mode: Mode, title: string, suite: (topology: SharedTopology) => void): void {
  describe(`${title} on ${mode}`, () => {
    const shared = sharedTopology(mode);
    let admin: RedisAdmin | undefined;
    beforeAll(async () => {
      admin = await RedisAdmin.connect(shared.connection);
    });
    afterAll(() => admin?.close());
    suite({
      ...shared,
      namespace: uniqueNamespace(),
      get admin() {
        if (!admin) throw new Error('`admin` is connected in beforeAll: use it in tests and hooks');
        return admin;
      },
    });
  });
}

/**
 * Servers of one's own, to kill, freeze or reconfigure. Whoever starts them stops them, in `afterAll` or `finally`.
 *
 * @example
 * const own = await startOwn('cluster');
 * await own.kill(await own.primary());
 * await own.stop();
 */
export function startOwn(mode: Mode, options: TopologyOptions = {}): Promise<Topology> {
  return startTopology(mode, options);
}

/** The shared deployment of that kind, without a suite around it. */
export function sharedTopology(mode: Mode): Omit<SharedTopology, 'admin' | 'namespace'> {
  const all = JSON.parse(process.env.REDIS_PATTERNS_SHARED ?? '[]') as Omit<SharedTopology, 'admin' | 'namespace'>[];
  const found = all.find((topology) => topology.mode === mode);
  // Never skipped in silence: a green run must have run it.
  if (!found) throw new Error(`No shared ${mode} runs; REDIS_PATTERNS_TOPOLOGIES=${mode} (or unset) starts it`);
  return found;
}

function selectedModes(): readonly Mode[] {
  const wish = process.env.REDIS_PATTERNS_TOPOLOGIES;
  if (!wish || wish === 'all' || wish === 'none') return MODES;
  return MODES.filter((mode) => wish.split(',').some((name) => name.trim() === mode));
}
