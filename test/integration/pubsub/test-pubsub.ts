import {
  PubSubEngine,
  resolvePubSubOptions,
  type PubSubOptions,
  type SubscriptionGap,
} from '../../../libs/redis-patterns/src/pubsub/index.js';
import { openEngine, type OpenEngine } from '../../support/engine.js';
import { RedisAdmin } from '../../support/redis-admin.js';
import type { PlainConnection } from '../../support/topologies.js';

/** Pub/sub without NestJS. */
export interface TestPubSub extends OpenEngine {
  readonly namespace: string;
  readonly pubsub: PubSubEngine;
}

export async function openPubSub(
  connection: PlainConnection,
  namespace: string,
  options: PubSubOptions = {},
  connectionOptions: object = {},
): Promise<TestPubSub> {
  const resolved = resolvePubSubOptions({ drainTimeout: 200, ...options }, 'the spec');
  const engine = await openEngine({ connection, namespace }, connectionOptions);
  const pubsub = new PubSubEngine(engine.context, resolved);
  const close = async (): Promise<void> => {
    await pubsub.close();
    await engine.close();
  };
  return { ...engine, namespace, pubsub, close };
}

/** What a subscription was told, in order: payloads, and the reasons of gaps. */
export class Heard {
  readonly events: unknown[] = [];
  readonly gaps: SubscriptionGap[] = [];
  readonly onMessage = (payload: unknown): void => void this.events.push(payload);
  readonly onGap = (gap: SubscriptionGap): void => {
    this.gaps.push(gap);
    this.events.push(`gap: ${gap.reason}`);
  };

  get messages(): unknown[] {
    return this.events.filter((event) => typeof event !== 'string' || !event.startsWith('gap: '));
  }

  get reasons(): string[] {
    return this.gaps.map(({ reason }) => reason);
  }
}

/** Kills the sockets on which a namespace listens; gives how many there were. */
export async function killSubscribers(
  nodes: readonly { host: string; port: number }[],
  namespace: string,
  admin: { username?: string; password?: string } = {},
): Promise<number> {
  let killed = 0;
  for (const { host, port } of nodes) {
    const node = await RedisAdmin.connect({ mode: 'standalone', host, port, ...admin });
    const list = (await node.client.call('CLIENT', 'LIST')) as string;
    for (const [, id] of list.matchAll(new RegExp(`^id=(\\d+) .* name=${namespace}:default:subscriber:\\d+ `, 'gm'))) {
      killed += Number(await node.client.call('CLIENT', 'KILL', 'ID', id!));
    }
    node.close();
  }
  return killed;
}

/** Publishes 1, 2, 3 … until it is stopped; those whose publish was answered are in `answered`. */
export class Flood {
  readonly answered: number[] = [];
  /** How many were tried. */
  tried = 0;
  #running = true;
  readonly #done: Promise<void>;

  constructor(publish: (n: number) => Promise<void>, pauseMs = 1) {
    this.#done = (async () => {
      while (this.#running) {
        const n = ++this.tried;
        await publish(n).then(
          () => this.answered.push(n),
          () => undefined,
        );
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
      }
    })();
  }

  async stop(): Promise<void> {
    this.#running = false;
    await this.#done;
  }
}
