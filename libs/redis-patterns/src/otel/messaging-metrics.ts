import type { Attributes, Counter, Histogram, Meter } from '@opentelemetry/api';
import { TelemetryListener, type TracedOperation } from '../telemetry/index.js';
import { BoundedLabels } from '../telemetry/metrics/index.js';
import { messagingAttributes, messagingOf, type MessagingOperation } from './messaging.js';
import { ending } from './span-description.js';

/** Of the conventions, seconds. */
const BOUNDS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];

/** The metrics that the conventions of OpenTelemetry have for messaging, with the names that backends know. */
export class MessagingMetrics {
  readonly #listener: TelemetryListener;
  readonly #labels = new BoundedLabels();
  readonly #sent: Counter;
  readonly #consumed: Counter;
  readonly #process: Histogram;
  readonly #client: Histogram;

  constructor(meter: Meter, app: string, onError: (error: unknown) => void) {
    this.#listener = new TelemetryListener(app, onError);
    const time = { unit: 's', advice: { explicitBucketBoundaries: BOUNDS } };
    const messages = { unit: '{message}' };
    this.#sent = meter.createCounter('messaging.client.sent.messages', {
      ...messages,
      description: 'Messages that a producer tried to send',
    });
    this.#consumed = meter.createCounter('messaging.client.consumed.messages', {
      ...messages,
      description: 'Messages that were delivered to the application',
    });
    this.#process = meter.createHistogram('messaging.process.duration', {
      ...time,
      description: 'Duration of the processing of messages',
    });
    this.#client = meter.createHistogram('messaging.client.operation.duration', {
      ...time,
      description: 'Duration of operations of producers and consumers',
    });
  }

  start(): void {
    this.#listener.onOperation(
      (operation) => {
        const messaging = messagingOf(operation);
        if (messaging !== undefined) this.#record(operation, messaging);
      },
      ['stream', 'pubsub'],
    );
  }

  close(): void {
    this.#listener.close();
  }

  #record(operation: TracedOperation, messaging: MessagingOperation): void {
    const { batchSize = 1, elapsedMs = 0, pattern } = operation;
    const attributes = this.#bounded(messagingAttributes(operation, messaging));
    const { 'error.type': error } = ending(operation).attributes;
    if (error !== undefined) attributes['error.type'] = error;
    // What is pushed is consumed when it is processed; what is pulled, when it is received.
    const { type } = messaging;
    if (type === 'send') this.#sent.add(batchSize, attributes);
    if (type === (pattern === 'stream' ? 'receive' : 'process')) this.#consumed.add(batchSize, attributes);
    (type === 'process' ? this.#process : this.#client).record(elapsedMs / 1000, attributes);
  }

  #bounded(attributes: Attributes): Attributes {
    for (const name of [
      'messaging.destination.name',
      'messaging.destination.template',
      'messaging.consumer.group.name',
    ]) {
      const value = attributes[name];
      if (typeof value === 'string') attributes[name] = this.#labels.of(name, value);
    }
    return attributes;
  }
}
