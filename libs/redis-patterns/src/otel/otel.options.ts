import type { Meter, Tracer } from '@opentelemetry/api';
import { z } from 'zod';
import { parseOptions } from '../core/options.js';

/** Options of `RedisPatternsOtelModule`. */
export interface OtelOptions {
  /** Makes the spans. Default: that of the global provider, by the name `nestjs-redis-patterns`. */
  tracer?: Tracer;
  /** Makes the instruments; `false`: no metrics. Default: that of the global provider, by the same name. */
  meter?: Meter | false;
  /**
   * Whether each command below a span of this library gets a span of its own, and is measured. Default `false`: leave that to an
   * instrumentation package for ioredis where you have one, or all commands get two.
   */
  commandSpans?: boolean;
  /**
   * Whether the run of a message belongs to the trace of its sender. Default `false`: it begins a trace of its own, with a link to the
   * sender, as messages wait, and are run again.
   */
  parent?: boolean;
}

const schema = z.strictObject({
  tracer: z
    .custom<Tracer>(
      (value) => typeof (value as Tracer | null)?.startSpan === 'function',
      'must be a Tracer of OpenTelemetry',
    )
    .optional(),
  meter: z
    .custom<Meter | false>(
      (value) => value === false || typeof (value as Meter | null)?.createCounter === 'function',
      'must be a Meter of OpenTelemetry, or false',
    )
    .optional(),
  commandSpans: z.boolean().default(false),
  parent: z.boolean().default(false),
});

export type ResolvedOtelOptions = z.output<typeof schema>;

/** @throws InvalidOptionsError */
export function resolveOtelOptions(raw: OtelOptions): ResolvedOtelOptions {
  return parseOptions(schema, raw, 'RedisPatternsOtelModule.forRoot()');
}
