import { BaseRpcContext } from '@nestjs/microservices';
import type { StreamContext } from '../../stream/index.js';

/** Out-of-band texts of a packet, as Nest calls the type from version 12 on. */
type Metadata = Record<string, string>;

/** What `@Ctx()` gives in handlers of {@link RedisStreamsServer}. */
export class RedisStreamsContext extends BaseRpcContext<[StreamContext, Metadata?]> {
  /** The message as a stream consumer sees it: `messageId`, `attempt`, `signal`, `headers`, … */
  getMessage(): StreamContext {
    return this.args[0];
  }

  /** The pattern, normalised as Nest does it. */
  getPattern(): string {
    return this.args[0].type ?? '';
  }

  /** What the client attached to the packet (`setOnDispatchHook` of Nest 12, or a serializer), if anything: texts such as a tenant. */
  getMetadata(): Metadata | undefined {
    return this.args[1];
  }
}
