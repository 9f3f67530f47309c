import type { RedisClient } from '../connection/index.js';
import type { MemoryRedis, Reply } from './redis/index.js';

/**
 * What ioredis is over a socket, over a Redis in memory: each command is a method, and `pipeline()` and `multi()` gather them.
 *
 * @param signal ends what waits
 */
export function memoryClient(redis: MemoryRedis, signal: AbortSignal): RedisClient {
  const known: Record<string, unknown> = {
    status: 'ready',
    options: { host: 'memory', port: 0, db: 0 },
    sendCommand: ({ name, args }: Sent) => command(redis, signal, name, args),
    call: (name: string, ...args: unknown[]) => send(name, args),
    pipeline: () => new MemoryPipeline(redis).proxy,
    multi: () => new MemoryPipeline(redis).proxy,
    // As ioredis gives it.
    hgetall: async (...args: unknown[]) => fieldsOf((await send('hgetall', args)) as string[]),
    on: () => client,
    once: () => client,
    off: () => client,
    connect: async () => undefined,
    quit: async () => 'OK',
    disconnect: () => undefined,
  };
  // Every command goes through one method, as with ioredis.
  const send = (name: string, args: unknown[]): unknown =>
    (known.sendCommand as (sent: Sent) => unknown)({ name, args });
  const client = new Proxy(known, {
    get: (target, name) => {
      if (typeof name !== 'string' || Object.hasOwn(target, name)) return target[name as string];
      // Promises, test runners and Nest look for methods of their own.
      if (name === 'then' || name === 'nodes' || !/^[a-z]+$/.test(name)) return undefined;
      return (target[name] = (...args: unknown[]) => send(name, args));
    },
  });
  return client as unknown as RedisClient;
}

interface Sent {
  readonly name: string;
  readonly args: unknown[];
}

/** @returns a promise that settles in a later turn, as a reply does */
async function command(redis: MemoryRedis, signal: AbortSignal, name: string, args: unknown[]): Promise<Reply> {
  const words = args.flat().flatMap((arg) => (isFields(arg) ? Object.entries(arg).flat() : [arg]));
  return name.toUpperCase() === 'XREADGROUP' ? redis.read(words, signal) : redis.call(name, words);
}

function fieldsOf(reply: string[]): Record<string, string> {
  return Object.fromEntries(reply.flatMap((field, index) => (index % 2 === 0 ? [[field, reply[index + 1]!]] : [])));
}

function isFields(arg: unknown): arg is object {
  return typeof arg === 'object' && arg !== null && !Buffer.isBuffer(arg);
}

class MemoryPipeline {
  readonly #calls: (() => Reply)[] = [];
  readonly proxy: unknown;

  constructor(redis: MemoryRedis) {
    const proxy: unknown = new Proxy(this, {
      get: (target, name) => {
        if (name === 'exec') return () => target.#exec();
        if (name === 'length') return target.#calls.length;
        return (...args: unknown[]) => {
          const [word, ...rest] = name === 'call' ? (args as [string, ...unknown[]]) : [String(name), ...args];
          target.#calls.push(() => redis.call(word, rest.flat()));
          return proxy;
        };
      },
    });
    this.proxy = proxy;
  }

  async #exec(): Promise<[Error | null, Reply | undefined][]> {
    return this.#calls.map((call) => {
      try {
        return [null, call()];
      } catch (error) {
        return [error as Error, undefined];
      }
    });
  }
}
