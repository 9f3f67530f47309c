import { afterAll, beforeAll } from '@jest/globals';
import type { Redis } from 'ioredis';
import { DoctorService, type DoctorReport, type ExamineOptions } from 'nestjs-redis-patterns';
import { RedisAdmin } from '../../support/redis-admin.js';
import { startOwn, type Mode, type OwnOptions, type Topology } from '../../support/topologies.js';

/** Two servers' worth of settings with which nothing is to be found. */
export const HEALTHY: Readonly<Record<'cache' | 'durable', OwnOptions>> = {
  cache: { acl: true, config: { maxmemory: '200mb', 'maxmemory-policy': 'allkeys-lfu' } },
  durable: {
    acl: true,
    persistence: 'aof',
    config: { maxmemory: '200mb', 'maxmemory-policy': 'noeviction', 'min-replicas-to-write': 1 },
  },
};

/** The machine that runs the tests may be slow, and its Redis old: neither is what they plant. */
export const CALM: ExamineOptions = {
  duty: 1,
  latencyGuard: '10s',
  skip: ['SEC004'],
  rules: {
    CMD003: { ms: 1000 },
    CMD004: { ms: 1000 },
    LAT001: { ms: 1000 },
    PER004: { ms: 10_000 },
    CON005: { warn: 1e9 },
  },
};

/** A server of a suite's own, with a client that has a name as it should. */
export interface HealthyServer {
  readonly topology: Topology;
  /** May do everything. */
  readonly redis: Redis;
  /** As an ordinary user; the options are beside {@link CALM}. */
  examine(options?: ExamineOptions): Promise<DoctorReport>;
}

export function useHealthyServer(mode: Exclude<Mode, 'cluster'>, options: OwnOptions): HealthyServer {
  let started: { topology: Topology; admin: RedisAdmin } | undefined;
  beforeAll(async () => {
    const topology = await startOwn(mode, options);
    const connection = { ...topology.connection, ...topology.users?.admin };
    const admin = await RedisAdmin.connect(connection, { connectionName: 'ops:default:spec:0' });
    started = { topology, admin };
  });
  afterAll(async () => {
    started?.admin.close();
    await started?.topology.stop();
  });
  return {
    get topology() {
      return started!.topology;
    },
    get redis() {
      return started!.admin.client as Redis;
    },
    examine: ({ rules, ...more } = {}) =>
      DoctorService.forConnection(started!.topology.connection, { namespace: 'shop' }).examine({
        ...CALM,
        ...more,
        rules: { ...CALM.rules, ...rules },
      }),
  };
}

/** Keys as a good cache has them: with TTLs that do not end together. */
export async function writeCache(redis: Redis, prefix: string, count: number, ttl = (n: number) => 600 + n * 20) {
  const pipeline = redis.pipeline();
  for (let n = 0; n < count; n++) pipeline.set(`${prefix}:${n + 1000}`, `value ${n}`, 'EX', ttl(n));
  await pipeline.exec();
}

/** Keys without a TTL. */
export async function writeForEver(redis: Redis, prefix: string, count: number, bytes = 10) {
  const pipeline = redis.pipeline();
  for (let n = 0; n < count; n++) pipeline.set(`${prefix}:${n + 1000}`, 'x'.repeat(bytes));
  await pipeline.exec();
}

/** Forgets what former tests have left: keys, counters, logs, settings. */
export async function cleanSlate(redis: Redis, settings: NonNullable<OwnOptions['config']> = {}) {
  await redis
    .pipeline()
    .flushall()
    .call('SLOWLOG', 'RESET')
    .call('LATENCY', 'RESET')
    .call('SCRIPT', 'FLUSH')
    .config('SET', ...(Object.entries(settings).flatMap(([name, value]) => [name, String(value)]) as [string, string]))
    .exec();
}

/** Counters begin with what comes next. */
export async function forgetCounters(redis: Redis) {
  await redis.config('RESETSTAT');
}

/** What is found, as `ID prefix-or-subject`, each once. */
export function foundIn({ findings }: DoctorReport): string[] {
  const texts = findings.map(({ id, scope }) =>
    [id, scope.prefix ?? scope.subject, scope.group].filter(Boolean).join(' '),
  );
  return [...new Set(texts)].toSorted();
}
