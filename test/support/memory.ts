import { MemoryConnection } from '../../libs/redis-patterns/src/testing/memory-connection.js';
import { memoryClient } from '../../libs/redis-patterns/src/testing/memory-client.js';
import { MemoryRedis } from '../../libs/redis-patterns/src/testing/redis/index.js';
import type { PlainConnection } from '../../scripts/servers/index.mjs';

/** The host that stands for the Redis in memory of `nestjs-redis-patterns/testing`, by which suites can run on it too. */
const HOST = 'memory';
const redis = new MemoryRedis();

export const memoryTopology = {
  mode: 'standalone' as const,
  connection: { mode: 'standalone', host: HOST, port: 6379 } satisfies PlainConnection,
  url: 'redis://memory',
  nodes: [],
};

export function isInMemory(connection: PlainConnection): boolean {
  return connection.mode === 'standalone' && connection.host === HOST;
}

export function openMemoryConnection(): MemoryConnection {
  return new MemoryConnection('default', redis);
}

export function openMemoryClient() {
  return memoryClient(redis, new AbortController().signal);
}
