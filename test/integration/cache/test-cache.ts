import type { Operation, RedisConnection } from '../../../libs/redis-patterns/src/connection/index.js';
import { CacheService, resolveCacheOptions, type CacheOptions } from '../../../libs/redis-patterns/src/cache/index.js';
import { openEngine, type OpenEngine } from '../../support/engine.js';
import type { PlainConnection } from '../../support/topologies.js';

/** A cache without NestJS, as one process would have it. */
export interface TestCache {
  readonly cache: CacheService;
  readonly engine: OpenEngine;
  close(): Promise<void>;
}

/** Places where a spec can stop a cache: just before an operation is sent, and when its reply has come. */
export interface Hooks {
  before?: (operation: string) => void;
  after?: (operation: string) => Promise<void> | undefined;
}

export async function openCache(
  topology: { connection: PlainConnection; namespace: string },
  options: CacheOptions = {},
  connectionOptions: object = {},
  hooks: Hooks = {},
): Promise<TestCache> {
  const engine = await openEngine(topology, connectionOptions);
  const context = { ...engine.context, connection: hooked(engine.connection, hooks) };
  const cache = new CacheService(context, resolveCacheOptions(options, 'the spec'));
  return {
    cache,
    engine,
    close: async () => {
      await cache.close();
      await engine.close();
    },
  };
}

function hooked(connection: RedisConnection, { before, after }: Hooks): RedisConnection {
  const run = async <T, R>(operation: Operation<T, R>): Promise<T | R> => {
    before?.(operation.name);
    // Nothing becomes of the reply before the hook has run.
    const bare = Object.create(operation, { onReply: {}, onFailure: {} }) as Operation<T>;
    let reply: T;
    try {
      reply = await connection.run(bare);
    } catch (error) {
      if (operation.onFailure === undefined) throw error;
      return operation.onFailure(error as Error);
    }
    await after?.(operation.name);
    return operation.onReply === undefined ? reply : operation.onReply(reply);
  };
  // The rest is the connection's own.
  return new Proxy(connection, {
    get: (target, property) => {
      const value: unknown = property === 'run' ? run : Reflect.get(target, property);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

/** A factory that a spec lets go on when it wants, and that counts its runs. */
export class GatedFactory<T> {
  runs = 0;
  readonly #gates: { open: (value: T) => void; fail: (error: Error) => void }[] = [];

  readonly make = (): Promise<T> => {
    this.runs++;
    return new Promise<T>((open, fail) => this.#gates.push({ open, fail }));
  };

  /** Lets the nth run, from 1, return that value. */
  open(run: number, value: T): void {
    this.#gates[run - 1]!.open(value);
  }

  /** Lets all that still run return that value, so that nobody waits for them at the end. */
  openAll(value: T): void {
    for (const gate of this.#gates) gate.open(value);
  }

  fail(run: number, error: Error): void {
    this.#gates[run - 1]!.fail(error);
  }
}

/** Names of the commands that one engine sends while it works, in order, and in how many turns of the event loop. */
export async function commandsOf(
  { engine }: TestCache,
  work: () => Promise<unknown>,
): Promise<{ names: string[]; turns: number }> {
  const names: string[] = [];
  const { client } = engine.connection;
  const nodes = 'nodes' in client ? client.nodes('master') : [client];
  const originals = nodes.map((node) => node.sendCommand);
  let turns = 0;
  let inTurn = false;
  for (const node of nodes) {
    const send = node.sendCommand.bind(node);
    node.sendCommand = (command, ...rest) => {
      names.push(command.name);
      if (!inTurn) {
        inTurn = true;
        turns++;
        setImmediate(() => (inTurn = false));
      }
      return send(command, ...rest);
    };
  }
  try {
    await work();
  } finally {
    nodes.forEach((node, index) => (node.sendCommand = originals[index]!));
  }
  return { names, turns };
}
