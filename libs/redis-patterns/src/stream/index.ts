export type { ReplayRange, TrimLimits } from './admin.options.js';
export type {
  DeadLetterOptions,
  ResolvedConsumerOptions,
  ResolvedReaderOptions,
  RetryBackoffOptions,
  StreamConsumerOptions,
} from './consumer.options.js';
export type { DeadLetter, DeadLetterPage, DeadLetters, DeadLetterSelection } from './dead-letters.js';
export type { StreamLag } from './figures.js';
export type { StreamLane } from './lane.js';
export { MessageInvalidError, type MessageSchema, type SchemaClass } from './message-schema.js';
export type { StandardSchema } from '../core/standard-schema.js';
export type { PublishItem, PublishOptions } from './producer/publisher.js';
export type { ReaderState, ReaderStatus } from './reader/reader.js';
export type { MessageHandler } from './reader/routes.js';
export { StreamContext } from './stream-context.js';
export {
  defineStream,
  type EventPayload,
  type EventType,
  type StreamDefinition,
  type StreamEvents,
  type StreamName,
} from './stream-definition.js';
export { StreamAdmin, type StreamGroupInfo, type StreamInfo, type StreamPendingInfo } from './stream-admin.service.js';
export {
  GroupInUseError,
  HandlerTimeoutError,
  LeaseLostError,
  MessageSettledError,
  RetryMessageError,
  StreamDrainedError,
  StreamFullError,
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
export { StreamProducer, type PublishResult } from './stream-producer.service.js';
export {
  StreamRuntime,
  type StreamConsumption,
  type StreamReaderInfo,
  type StreamRuntimeState,
} from './stream-runtime.service.js';
export { StreamTransaction } from './transaction.js';
