import { LockService } from 'nestjs-redis-patterns';
import { resolveLockOptions } from '../../../libs/redis-patterns/src/lock/lock.options.js';
import { sleep } from '../../../libs/redis-patterns/src/core/index.js';
import { openEngine } from '../../support/engine.js';
import { eventually } from '../../support/eventually.js';
import type { RedisAdmin } from '../../support/redis-admin.js';
import { connectAdmin, startOwn, type Topology } from '../../support/topologies.js';

/** One of the independent servers. */
export interface RedlockServer {
  readonly topology: Topology;
  readonly admin: RedisAdmin;
  kill(): Promise<void>;
  restart(): Promise<void>;
  /** Resolves when it has surely stopped to answer. */
  freeze(): Promise<void>;
  resume(): void;
}

/** Independent servers and services that lock on them. `close` ends all of it. */
export class RedlockNodes {
  readonly #closers: (() => Promise<unknown>)[] = [];

  private constructor(readonly servers: readonly RedlockServer[]) {}

  static async start(count: number): Promise<RedlockNodes> {
    return new RedlockNodes(await Promise.all(Array.from({ length: count }, startServer)));
  }

  /** @param options of the locks; without `restartGuard`, as the servers have just been started */
  async open(options: object = {}): Promise<LockService> {
    const engines = await Promise.all(
      this.servers.map(({ topology }) => openEngine({ connection: topology.connection, namespace: 'shop' })),
    );
    const nodes = engines.map((_, n) => `node${n}`);
    const resolved = resolveLockOptions({ mode: 'redlock', nodes, restartGuard: false, ...options }, 'the spec');
    const connections = engines.map(({ connection }) => connection);
    const service = new LockService(engines[0]!.context, resolved, connections);
    this.#closers.push(async () => {
      await service.close();
      await Promise.all(engines.map((engine) => engine.close()));
    });
    return service;
  }

  /** What the servers know of a key; a server that does not answer is left out. */
  async values(key: string, servers = this.servers): Promise<(string | null)[]> {
    return Promise.all(servers.map(({ admin }) => admin.client.get(`shop:lock:${key}`)));
  }

  async close(): Promise<void> {
    await Promise.all(this.#closers.map((close) => close()));
    for (const { admin } of this.servers) admin.close();
    await Promise.all(this.servers.map(({ topology }) => topology.stop()));
  }
}

async function startServer(): Promise<RedlockServer> {
  const topology = await startOwn('standalone', { user: 'lock' });
  const admin = await connectAdmin(topology);
  const node = await topology.primary();
  return {
    topology,
    admin,
    kill: () => topology.kill(node),
    restart: () => topology.restart(node, { data: 'wipe' }),
    freeze: async () => {
      topology.freeze(node);
      const isSilent = () => Promise.race([sleep(30).then(() => true), admin.client.ping().then(() => false)]);
      await eventually(isSilent, { interval: 1 });
    },
    resume: () => topology.resume(node),
  };
}
