import { SpanKind, type Attributes } from '@opentelemetry/api';
import type { TracedOperation } from '../telemetry/index.js';
import { destinationOf, messagingAttributes, messagingOf } from './messaging.js';

/** What a span is called and has from its beginning. */
export interface SpanDescription {
  readonly name: string;
  readonly kind: SpanKind;
  readonly attributes: Attributes;
}

/** Ends that were thrown, and that callers have to expect. */
const EXPECTED: ReadonlySet<string> = new Set(
  ['busy', 'mismatch', 'unkept', 'aborted', 'conflict', 'too-large', 'revoked'], //
);

/** By the conventions of OpenTelemetry for messaging, and our own names for what has none. */
export function describe(operation: TracedOperation): SpanDescription {
  const { pattern, operation: what, name, connection, keyTemplate, batchSize, messageId } = operation;
  const attributes: Attributes = { 'redis_patterns.name': name, 'redis_patterns.connection': connection };
  const messaging = messagingOf(operation);
  if (messaging === undefined) {
    if (keyTemplate !== undefined) attributes['redis_patterns.key_template'] = keyTemplate;
    if (batchSize !== undefined) attributes['redis_patterns.batch.size'] = batchSize;
    return { name: `${pattern}.${what}`, kind: SpanKind.INTERNAL, attributes };
  }
  Object.assign(attributes, messagingAttributes(operation, messaging));
  if (messageId !== undefined) attributes['messaging.message.id'] = messageId;
  if (batchSize !== undefined) attributes['messaging.batch.message_count'] = batchSize;
  const destination = destinationOf(operation);
  const title = destination === undefined ? messaging.word : `${messaging.word} ${destination}`;
  return { name: title, kind: messaging.kind, attributes };
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
