import { z } from 'zod';
import { durationSchema, parseOptions } from '../core/options.js';
import type { ResolvedConsumerOptions, ResolvedReaderOptions } from './consumer.options.js';
import { isMessageSchema, type MessageSchema } from './message-schema.js';
import type { StreamName } from './stream-definition.js';

const START_FROM = "must be '0', '$', an entry id such as '1764500000000-0', or a Date";
const startFrom = z.union([z.string().regex(/^(\$|\d{1,16}(-\d{1,20})?)$/, START_FROM), z.date()], START_FROM);
const deadLetterBounds = z.strictObject({
  maxLen: z.int().min(1).default(100_000),
  maxAge: durationSchema({ min: 1000 }).prefault('30d'),
  stack: z.boolean().default(false),
});
const retry = z.strictObject({
  attempts: z.int().min(1).default(5),
  backoff: z
    .strictObject({
      base: durationSchema().prefault(200),
      factor: z.number().min(1).default(2),
      max: durationSchema().prefault('5m'),
    })
    .prefault({}),
});

const schema = z.strictObject({
  stream: z.custom<StreamName>(
    (value) => typeof (value as { name?: unknown } | undefined)?.name === 'string' || typeof value === 'string',
    "must be a stream name such as 'orders', or a value of defineStream()",
  ),
  group: z.string().min(1, "must be a name such as 'billing'"),
  type: z.union([z.string().min(1), z.array(z.string().min(1)).min(1)]).optional(),
  schema: z.custom<MessageSchema>(isMessageSchema, 'must be a Standard Schema (zod, valibot, …) or a class').optional(),
  retry: retry.prefault({}),
  timeout: durationSchema({ min: 1 }).optional(),
  slowAfter: durationSchema({ min: 1 }).prefault('60s'),
  batch: z
    .strictObject({ size: z.int().min(1).max(10_000), wait: durationSchema({ max: 60_000 }).prefault(50) })
    .optional(),
  ordering: z.enum(['none', 'key']).optional(),
  maxParked: z.int().min(1).max(1_000_000).optional(),
  startFrom: startFrom.optional(),
  concurrency: z.int().min(1).max(10_000).optional(),
  prefetch: z.int().min(0).max(100_000).optional(),
  lease: durationSchema({ min: 1000 }).optional(),
  block: durationSchema({ min: 10, max: 5000 }).optional(),
  maxBufferedBytes: z.int().min(1024).optional(),
  maxDeliveries: z.int().min(1).optional(),
  reapAfter: durationSchema({ min: 1000 }).optional(),
  consumerName: z.string().min(1).max(200).optional(),
  onUnknownType: z.enum(['dead-letter', 'ack', 'retry']).optional(),
  deadLetter: z.union([z.literal(false), deadLetterBounds]).optional(),
});

/**
 * Parses the options of one consumer.
 *
 * @param where `Class.method`, or what else the options were given to
 * @throws InvalidOptionsError naming each wrong option
 */
export function resolveConsumerOptions(raw: unknown, where: string): ResolvedConsumerOptions {
  const options = parseOptions(schema, raw ?? {}, where);
  const { stream, group, type, schema: shape, startFrom: start } = options;
  const { retry, timeout, slowAfter, batch, ...rest } = options;
  const { stream: _stream, group: _group, type: _type, schema: _schema, startFrom: _start, ...reader } = rest;
  const given = Object.fromEntries(Object.entries(reader).filter(([, value]) => value !== undefined));
  return {
    stream,
    group,
    types: type === undefined ? undefined : typeof type === 'string' ? [type] : type,
    schema: shape,
    handler: { retry, timeout, slowAfter, batch },
    reader: (start === undefined
      ? given
      : { ...given, startFrom: startPosition(start) }) as Partial<ResolvedReaderOptions>,
  };
}

/** The id after which the group begins. A time includes what was published in that very millisecond. */
function startPosition(start: string | Date): string {
  if (start === '$') return start;
  if (typeof start === 'string') return start.includes('-') ? start : `${start}-0`;
  const ms = start.getTime();
  return ms > 0 ? `${ms - 1}-18446744073709551615` : '0-0';
}
