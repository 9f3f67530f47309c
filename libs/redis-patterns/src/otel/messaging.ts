import { SpanKind, type Attributes } from '@opentelemetry/api';
import type { TracedOperation } from '../telemetry/index.js';

/** An operation as the conventions of OpenTelemetry for messaging see it. */
export interface MessagingOperation {
  /** Begins the name of its span. */
  readonly word: string;
  readonly type: string;
  readonly kind: SpanKind;
}

const OPERATIONS: Readonly<Record<string, MessagingOperation>> = {
  publish: { word: 'send', type: 'send', kind: SpanKind.PRODUCER },
  receive: { word: 'receive', type: 'receive', kind: SpanKind.CLIENT },
  process: { word: 'process', type: 'process', kind: SpanKind.CONSUMER },
  ack: { word: 'ack', type: 'settle', kind: SpanKind.CLIENT },
};

/** `undefined` for what is no messaging. */
export function messagingOf({ pattern, operation }: TracedOperation): MessagingOperation | undefined {
  return pattern === 'stream' || pattern === 'pubsub' ? OPERATIONS[operation] : undefined;
}

/** What spans and metrics have in common: names from the code alone. A channel may hold a value, its template does not. */
export function messagingAttributes(operation: TracedOperation, { word, type }: MessagingOperation): Attributes {
  const { stream, group, keyTemplate } = operation;
  const attributes: Attributes = {
    'messaging.system': 'redis',
    'messaging.operation.name': word,
    'messaging.operation.type': type,
  };
  if (stream !== undefined) attributes['messaging.destination.name'] = stream;
  if (keyTemplate !== undefined) attributes['messaging.destination.template'] = keyTemplate;
  if (group !== undefined) attributes['messaging.consumer.group.name'] = group;
  return attributes;
}

/** Who or what it is about, for the name of the span; of a subscription the one that listens. */
export function destinationOf({ stream, keyTemplate, name, pattern, operation }: TracedOperation): string | undefined {
  if (pattern === 'stream') return stream;
  return operation === 'process' ? name : keyTemplate;
}
