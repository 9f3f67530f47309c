import type { INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { RedisConnections, RedisPatternsModule, type RedisPatternsOptions } from 'nestjs-redis-patterns';
import {
  ManagedConnection,
  resolveConnectionOptions,
} from '../../../../../libs/redis-patterns/src/connection/index.js';
import { Telemetry } from '../../../../../libs/redis-patterns/src/telemetry/index.js';
import {
  startTopology,
  type Mode,
  type PlainConnection,
  type Topology,
} from '../../../../../scripts/servers/index.mjs';
import { eventually } from '../../../../support/eventually.js';
import { PASSWORD } from './marks.js';
import type { Sinks } from './sinks.js';

const NAMESPACE = 'shop';
const POLICIES = {
  tight: { limit: 1, window: '1m' },
  closed: { limit: 9, window: '1m', onStoreError: 'closed' },
};

/** Servers, an application and a bare connection, all with the password that must not be seen. */
export class World {
  readonly #open: ManagedConnection[] = [];

  private constructor(
    readonly topology: Topology,
    readonly connection: PlainConnection,
    readonly app: INestApplicationContext,
    readonly layer: ManagedConnection,
    private readonly sinks: Sinks,
  ) {}

  static async create(mode: Mode, sinks: Sinks): Promise<World> {
    const topology = await startTopology(mode, { acl: true });
    const { sentinel } = topology.connection as { sentinel?: object };
    const connection = {
      ...topology.connection,
      password: PASSWORD,
      ...(sentinel && { sentinel: { ...sentinel, password: PASSWORD } }),
    } as PlainConnection;
    for (const node of [...topology.nodes, ...topology.sentinels]) {
      await node.command('ACL', 'SETUSER', 'app', 'resetpass', `>${PASSWORD}`);
    }
    const app = await bootWith(sinks, connection);
    const world = new World(topology, connection, app, openLayer(connection), sinks);
    world.#open.push(world.layer);
    await world.layer.settleBoot();
    return world;
  }

  /** A command to every server that holds data, as the administrator. */
  async onServers(...command: string[]): Promise<void> {
    await Promise.all(this.topology.nodes.map((node) => node.command(...command)));
  }

  /** Runs something while no server answers. */
  async whileFrozen<T>(run: () => Promise<T>): Promise<T> {
    for (const node of this.topology.nodes) this.topology.freeze(node);
    try {
      return await run();
    } finally {
      for (const node of this.topology.nodes) this.topology.resume(node);
    }
  }

  /** Waits until calls go through again. */
  async recovered(): Promise<void> {
    const connections = this.app.get(RedisConnections);
    await eventually(() => {
      const { status, breaker } = connections.stats();
      return status === 'ready' && breaker.state === 'closed';
    });
  }

  /** A connection with other options, closed at the end. */
  async with(more: object): Promise<ManagedConnection> {
    const layer = openLayer({ ...this.connection, ...more });
    this.#open.push(layer);
    await layer.settleBoot();
    return layer;
  }

  /** A boot that is to fail. */
  async boot(connection: unknown): Promise<void> {
    const app = await bootWith(this.sinks, connection);
    await app.close();
  }

  async end(): Promise<void> {
    await this.app.close();
    await Promise.all(this.#open.map((layer) => layer.close()));
    await this.topology.stop();
  }
}

function openLayer(connection: object): ManagedConnection {
  const options = { startup: 'fail-fast', ...connection } as Parameters<typeof resolveConnectionOptions>[0];
  const resolved = resolveConnectionOptions(options, 'the spec', 'connection');
  return new ManagedConnection('bare', NAMESPACE, resolved, new Telemetry('bare'));
}

function bootWith(sinks: Sinks, connection: unknown): Promise<INestApplicationContext> {
  const patterns = { rateLimit: { policies: POLICIES }, stream: { maxPayload: 100 } };
  const options = { namespace: NAMESPACE, connection, ...patterns } as RedisPatternsOptions;
  const module = RedisPatternsModule.forRoot(options);
  return NestFactory.createApplicationContext(module, { logger: sinks.logger, abortOnError: false });
}
