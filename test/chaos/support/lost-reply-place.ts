import type { Cluster } from 'ioredis';
import { resolveRateLimitOptions, RateLimitService } from '../../../libs/redis-patterns/src/rate-limit/index.js';
import { CounterService } from '../../../libs/redis-patterns/src/counting/index.js';
import { incrScript } from '../../../libs/redis-patterns/src/counting/scripts.generated.js';
import { LockService } from '../../../libs/redis-patterns/src/lock/index.js';
import { acquireScript, leaveScript } from '../../../libs/redis-patterns/src/lock/scripts.generated.js';
import { resolveLockOptions } from '../../../libs/redis-patterns/src/lock/lock.options.js';
import { slotOf } from '../../../libs/redis-patterns/src/keys/index.js';
import { consumeScript } from '../../../libs/redis-patterns/src/rate-limit/scripts.generated.js';
import { resolveStreamOptions, StreamProducer } from '../../../libs/redis-patterns/src/stream/index.js';
import { openEngine, type OpenEngine } from '../../support/engine.js';
import { eventually } from '../../support/eventually.js';
import type { Outcome } from '../../support/history.js';
import { startProxies, type FaultProxy, type PlainConnection, type SharedTopology } from '../../support/topologies.js';

/** How a message can be lost. */
export interface Loss {
  readonly name: string;
  readonly mode: Parameters<FaultProxy['set']>[0];
  readonly cut: boolean;
  /** How often the operation has happened in the end, if nobody repeats it. */
  readonly happened: 0 | 1;
  /** Whether the network stays like that until the call has settled, or is well again as soon as something was lost. */
  readonly patient: boolean;
}

export const LOSSES: readonly Loss[] = [
  { name: 'the request is lost, and the socket', mode: 'dropUp', cut: true, happened: 0, patient: false },
  { name: 'the reply is lost, and the socket', mode: 'dropDown', cut: true, happened: 1, patient: false },
  { name: 'the reply is lost in a silent socket', mode: 'dropDown', cut: false, happened: 1, patient: true },
  { name: 'the request arrives when nobody waits any more', mode: 'blackhole', cut: false, happened: 1, patient: true },
];

export interface Application extends OpenEngine {
  readonly producer: StreamProducer;
  readonly locks: LockService;
  readonly limits: RateLimitService;
  readonly counters: CounterService;
}

/** Milliseconds: losses of which nobody hears last that long. */
const DEADLINE = 250;
/** Units that the policy `p` gives. */
export const LIMIT = 1_000_000;

/** One application behind a fault proxy for each server, and one that reaches the same servers directly. */
export class LossyPlace {
  private constructor(
    readonly behind: Application,
    readonly direct: Application,
    readonly fleet: Awaited<ReturnType<typeof startProxies>>,
    private readonly topology: SharedTopology,
  ) {}

  static async open(topology: SharedTopology): Promise<LossyPlace> {
    const { connection, namespace, mode } = topology;
    const fleet = await startProxies(mode === 'cluster' ? topology.nodes : topology.nodes.slice(0, 1));
    const addresses = fleet.proxies.map(({ host, port }) => ({ host, port }));
    const proxied: PlainConnection =
      mode === 'cluster' ? { mode, nodes: addresses } : { mode: 'standalone', ...addresses[0]! };
    const { natMap } = fleet;
    const behind = await openApplication({ connection: proxied, namespace }, mode === 'cluster' ? { natMap } : {});
    const direct = await openApplication({ connection, namespace }, {});
    await learnScripts(topology);
    return new LossyPlace(behind, direct, fleet, topology);
  }

  async close(): Promise<void> {
    await this.fleet.set('pass');
    await Promise.all([this.behind, this.direct].map((application) => application.close()));
    await this.fleet.close();
  }

  /** The proxy in front of the master of a key. */
  proxyOf(key: string): FaultProxy {
    if (this.topology.mode !== 'cluster') return this.fleet.proxies[0]!;
    const address = (this.topology.admin.client as Cluster).slots[slotOf(key)]![0]!;
    return this.fleet.of({ port: Number(address.split(':').at(-1)) });
  }

  /** Makes a call, which meets a loss on its way to the master of `key`. */
  async strike<T>(loss: Loss, key: string, call: () => Promise<T>): Promise<T> {
    const proxy = this.proxyOf(key);
    const lost = proxy.bytesLost;
    await proxy.set(loss.mode, { cut: loss.cut });
    const result = call();
    if (loss.patient) await result.catch(() => undefined);
    else await eventually(() => proxy.bytesLost > lost);
    await proxy.set('pass');
    return result;
  }

  /** Refuses connections to the master of `key`; resolves when the application has noticed. */
  async cutOff(key: string): Promise<void> {
    await this.proxyOf(key).set('refuse');
    const probe = { name: 'test.probe', effect: 'read', key } as const;
    await eventually(() =>
      this.behind.connection.run({ ...probe, send: (client) => client.exists(key) }).then(
        () => false,
        (error: { outcome: Outcome }) => error.outcome === 'not-sent',
      ),
    );
  }

  /**
   * Resolves when whatever was sent for `key` before has been executed: requests of one socket are, in order, and a new
   * socket has been through its greeting.
   */
  async quiet(key: string): Promise<void> {
    const { connection } = this.behind;
    await eventually(() =>
      connection
        .run({ name: 'test.quiet', effect: 'read', key, wait: true, send: (client) => client.exists(key) })
        .then(() => true),
    );
  }
}

async function openApplication(
  place: { connection: PlainConnection; namespace: string },
  ioredis: object,
): Promise<Application> {
  const engine = await openEngine(place, { ioredis, commandTimeout: DEADLINE });
  const where = 'the spec';
  const { context } = engine;
  const policies = { p: { limit: LIMIT, window: '1h', onStoreError: 'closed' } } as const;
  const locks = new LockService(context, resolveLockOptions({}, where));
  return {
    ...engine,
    locks,
    counters: new CounterService(context),
    limits: new RateLimitService(context, resolveRateLimitOptions({ policies, deadline: DEADLINE }, where)),
    producer: new StreamProducer(context, resolveStreamOptions({}, where)),
    close: async () => {
      await locks.close();
      await engine.close();
    },
  };
}

/** The servers know all scripts from here on: what is lost is the work itself, never the reply NOSCRIPT. */
async function learnScripts({ admin }: SharedTopology): Promise<void> {
  const texts = [acquireScript, leaveScript, consumeScript, incrScript].map(({ lua }) => lua);
  await Promise.all(admin.masters().flatMap((master) => texts.map((text) => master.script('LOAD', text))));
}
