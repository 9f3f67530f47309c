import type { Registry } from 'prom-client';
import { z } from 'zod';
import { parseOptions } from '../core/options.js';
import { BUCKETS } from '../telemetry/metrics/index.js';

/** Options of `RedisPatternsMetricsModule`. */
export interface MetricsOptions {
  /** Where the metrics are registered. Default: the global one of prom-client. Two applications in one process take two. */
  registry?: Registry;
  /** Begins each name. Default `'redis_patterns_'`. */
  prefix?: string;
  /** Upper bounds of the classes of all histograms of times, seconds. Default 0.5 ms to 60 s, in 16 steps. */
  buckets?: readonly number[];
}

const schema = z.strictObject({
  registry: z
    .custom<Registry>(
      (value) => typeof (value as Registry | null)?.registerMetric === 'function',
      'must be a Registry of prom-client',
    )
    .optional(),
  prefix: z
    .string()
    .regex(/^[a-zA-Z_:][a-zA-Z0-9_:]*$/, "must be letters, digits and '_', such as 'redis_patterns_'")
    .default('redis_patterns_'),
  buckets: z
    .array(z.number().positive())
    .min(1)
    .refine((bounds) => bounds.every((bound, index) => index === 0 || bound > bounds[index - 1]!), 'must ascend')
    .default([...BUCKETS]),
});

export type ResolvedMetricsOptions = z.output<typeof schema>;

/** @throws InvalidOptionsError */
export function resolveMetricsOptions(raw: MetricsOptions): ResolvedMetricsOptions {
  return parseOptions(schema, raw, 'RedisPatternsMetricsModule.forRoot()');
}
