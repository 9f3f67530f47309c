import { SpanKind, type Attributes } from '@opentelemetry/api';
import type { TracedOperation } from '../telemetry/index.js';

/** What a span is called and has from its beginning. */
export interface SpanDescription {
  readonly name: string;
  readonly kind: SpanKind;
  readonly attributes: Attributes;
}

/** Ends that were thrown, and that callers have to expect. */
const EXPECTED: ReadonlySet<string> = new Set(['busy', 'mismatch', 'unkept', 'aborted']);

/** By the conventions of OpenTelemetry for messaging, and our own names for what has none. */
export function describe(operation: TracedOperation): SpanDescription {
  const { pattern, operation: what, name, connection, keyTemplate, batchSize } = operation;
  const attributes: Attributes = { 'redis_patterns.name': name, 'redis_patterns.connection': connection };
  if (keyTemplate !== undefined) attributes['redis_patterns.key_template'] = keyTemplate;
  if (batchSize !== undefined) attributes['redis_patterns.batch.size'] = batchSize;
  if (pattern !== 'stream') return { name: `${pattern}.${what}`, kind: SpanKind.INTERNAL, attributes };
  const { stream = '', group, messageId } = operation;
  const sends = what === 'publish';
  attributes['messaging.system'] = 'redis';
  attributes['messaging.destination.name'] = stream;
  attributes['messaging.operation.name'] = sends ? 'send' : 'process';
  attributes['messaging.operation.type'] = sends ? 'send' : 'process';
  if (group !== undefined) attributes['messaging.consumer.group.name'] = group;
  if (messageId !== undefined) attributes['messaging.message.id'] = messageId;
  return {
    name: `${sends ? 'send' : 'process'} ${stream}`,
    kind: sends ? SpanKind.PRODUCER : SpanKind.CONSUMER,
    attributes,
  };
}

/** What is known at the end. */
export function ending({ outcome, source, attempts, code }: TracedOperation): {
  readonly attributes: Attributes;
  readonly isError: boolean;
} {
  const attributes: Attributes = {};
  if (outcome !== undefined) attributes['redis_patterns.outcome'] = outcome;
  if (source !== undefined) attributes['redis_patterns.source'] = source;
  if (attempts !== undefined) attributes['redis_patterns.attempts'] = attempts;
  const isError = code !== undefined && !EXPECTED.has(outcome ?? '');
  if (isError) attributes['error.type'] = code;
  return { attributes, isError };
}
