import { z } from 'zod';
import { durationSchema, parseOptions, type Duration } from '../core/index.js';

/** What a health check looks at. */
export interface HealthCheckOptions {
  /** Names of the connections to look at. Default: all. */
  connections?: readonly string[];
  /** Those whose silence is `down` (503); that of the others is `degraded` (200). Default: those of purpose `'durable'`. */
  critical?: readonly string[];
  /** Longest time that the answer takes, 10 ms to 10 s. Default 250 ms. */
  timeout?: Duration;
  /** For how long an answer is given again. Default 1 s. */
  cacheFor?: Duration;
  /** Entries that a consumer group of this process may lag behind. Default: any. */
  lag?: number;
  /** How old a pending entry of a consumer group may be. Default: any. */
  oldestPending?: Duration;
  /** Share of `maxmemory` from which a Redis that evicts nothing is degraded. Default 0.95; `false`: not asked for. */
  memory?: number | false;
  /** How many turns a stream reader may miss. A turn takes 5 s, or `block` where that is longer. Default 3. */
  quiet?: number;
  /** For how long a gap of pub/sub or tracking shows. Default 1 min. */
  gap?: Duration;
}

const names = () => z.array(z.string()).readonly().optional();

const schema = z.strictObject({
  connections: names(),
  critical: names(),
  timeout: durationSchema({ min: 10, max: 10_000 }).prefault('250ms'),
  cacheFor: durationSchema({ max: 60_000 }).prefault('1s'),
  lag: z.int().min(0).optional(),
  oldestPending: durationSchema().optional(),
  memory: z
    .union([z.literal(false), z.number().gt(0).max(1)], 'must be a share above 0, up to 1, or false')
    .default(0.95),
  quiet: z.number().min(1).default(3),
  gap: durationSchema().prefault('1m'),
});

export type ResolvedHealthOptions = z.output<typeof schema>;

/** @throws InvalidOptionsError */
export function resolveHealthOptions(raw: HealthCheckOptions, where: string): ResolvedHealthOptions {
  return parseOptions(schema, raw, where);
}
