import { BaseRpcContext } from '@nestjs/microservices';
import type { StreamContext } from '../../stream/index.js';

/** What `@Ctx()` gives in handlers of {@link RedisStreamsServer}. */
export class RedisStreamsContext extends BaseRpcContext<[StreamContext]> {
  /** The message as a stream consumer sees it: `messageId`, `attempt`, `signal`, `headers`, … */
  getMessage(): StreamContext {
    return this.args[0];
  }

  /** The pattern, normalised as Nest does it. */
  getPattern(): string {
    return this.args[0].type ?? '';
  }
}
