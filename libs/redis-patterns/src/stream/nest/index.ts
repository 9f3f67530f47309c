export { MessageBody, MessageContext, MessageHeader } from '../../nest/handlers/message-params.js';
export { streamPart } from './module-part.js';
export { StreamConsumer } from './stream-consumer.decorator.js';
