import type { LoggerService } from '@nestjs/common';
import { z } from 'zod';
import { durationSchema, parseOptions, type Duration } from '../core/index.js';

/** What the library says of itself. */
export interface TelemetryOptions {
  /** Where its lines go. Default: the logger of Nest. `false`: nowhere; metrics, traces and channels go on. */
  logger?: LoggerService | false;
  /** For how long a line that is said again is only counted, and then told once. `0`: each is written. Default 1 min. */
  logRepeat?: Duration;
  /** Operations that take longer are told at level `debug`. Default: none, as it costs each of them about a microsecond. */
  slow?: Duration;
}

const schema = z.strictObject({
  logger: z
    .custom<LoggerService | false>(
      (value) => value === false || typeof (value as LoggerService | null)?.warn === 'function',
      'must be a LoggerService of Nest, or false',
    )
    .optional(),
  logRepeat: durationSchema({ max: 86_400_000 }).prefault('1m'),
  slow: durationSchema().optional(),
});

export type ResolvedTelemetryOptions = z.output<typeof schema>;

/** @throws InvalidOptionsError */
export function resolveTelemetryOptions(raw: unknown, where: string): ResolvedTelemetryOptions {
  return parseOptions(schema, raw ?? {}, where, 'telemetry');
}
