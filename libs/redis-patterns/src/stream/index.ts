export type {
  ResolvedConsumerOptions,
  ResolvedReaderOptions,
  RetryBackoffOptions,
  StreamConsumerOptions,
} from './consumer.options.js';
export type { MessageHandler } from './reader/routes.js';
export { StreamContext } from './stream-context.js';
export { defineStream, type StreamDefinition, type StreamEvents, type StreamName } from './stream-definition.js';
export {
  StreamAdmin,
  type DeadLetter,
  type DeadLetters,
  type StreamGroupInfo,
  type StreamInfo,
  type StreamPendingInfo,
} from './stream-admin.service.js';
export {
  LeaseLostError,
  MessageSettledError,
  RetryMessageError,
  StreamDrainedError,
  StreamPublishError,
  UnrecoverableMessageError,
} from './stream.errors.js';
export {
  resolveStreamOptions,
  type ResolvedStreamOptions,
  type RetentionOptions,
  type StreamOptions,
  type StreamSettings,
} from './stream.options.js';
export {
  StreamProducer,
  type PublishItem,
  type PublishOptions,
  type PublishResult,
} from './stream-producer.service.js';
export { StreamRuntime, type StreamConsumption, type StreamRuntimeState } from './stream-runtime.service.js';
