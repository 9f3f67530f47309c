import { RedisCommandError, type EngineContext, type RedisClient } from '../connection/index.js';
import { decodeHeaders, readFields, toRecord } from './message.js';
import { streamNameOf, type StreamName } from './stream-definition.js';
import { groupKeys, streamKey } from './stream-keys.js';
import { decodeValue } from '../codec/index.js';

/** A stream as a whole. */
export interface StreamInfo {
  readonly length: number;
  readonly firstId: string | undefined;
  readonly lastId: string;
  readonly groups: number;
}

export interface StreamGroupInfo {
  readonly name: string;
  readonly consumers: number;
  /** Entries that were delivered and not acknowledged. */
  readonly pending: number;
  readonly lastDeliveredId: string;
  /** Entries that were not delivered yet; `undefined` when Redis cannot tell. */
  readonly lag: number | undefined;
}

export interface StreamPendingInfo {
  readonly count: number;
  readonly lowestId: string | undefined;
  readonly highestId: string | undefined;
  readonly consumers: readonly { readonly name: string; readonly count: number }[];
}

/** A message that a group could not process. */
export interface DeadLetter {
  /** Id of the dead letter. */
  readonly id: string;
  /** Id of the entry in the stream. */
  readonly originalId: string;
  readonly messageId: string;
  readonly type: string | undefined;
  readonly key: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** `undefined` also where the payload cannot be decoded. */
  readonly body: unknown;
  readonly reason: string;
  readonly error: string;
  readonly attempts: number;
  readonly deliveries: number;
  readonly at: Date;
}

/** The dead letters of one group. */
export interface DeadLetters {
  /** The newest first. `limit` is 100 by default. */
  list(options?: { limit?: number }): Promise<DeadLetter[]>;
}

/**
 * Looks at streams.
 *
 * @example
 * ```ts
 * const { pending, lag } = (await admin.groups('orders')).find((group) => group.name === 'billing')!;
 * ```
 */
export class StreamAdmin {
  constructor(private readonly context: EngineContext) {}

  /** @returns `undefined` when the stream does not exist */
  async info(stream: StreamName): Promise<StreamInfo | undefined> {
    const key = this.#key(stream);
    const reply = await this.#read('stream.info', key, (client) => client.xinfo('STREAM', key));
    if (reply === undefined) return undefined;
    const info = toRecord(reply);
    return {
      length: Number(info.length),
      firstId: (info['first-entry'] as [string, ...unknown[]] | null)?.[0],
      lastId: String(info['last-generated-id']),
      groups: Number(info.groups),
    };
  }

  /** @returns none when the stream does not exist */
  async groups(stream: StreamName): Promise<StreamGroupInfo[]> {
    const key = this.#key(stream);
    const reply = await this.#read('stream.groups', key, (client) => client.xinfo('GROUPS', key));
    return ((reply ?? []) as unknown[]).map((item) => {
      const group = toRecord(item);
      return {
        name: String(group.name),
        consumers: Number(group.consumers),
        pending: Number(group.pending),
        lastDeliveredId: String(group['last-delivered-id']),
        lag: typeof group.lag === 'number' ? group.lag : undefined,
      };
    });
  }

  /** @returns `undefined` when the stream or the group does not exist */
  async pending(stream: StreamName, group: string): Promise<StreamPendingInfo | undefined> {
    const key = this.#key(stream);
    const reply = await this.#read('stream.pending', key, (client) => client.xpending(key, group));
    if (reply === undefined) return undefined;
    const [count, lowestId, highestId, consumers] = reply as [
      number,
      string | null,
      string | null,
      [string, string | number][] | null,
    ];
    return {
      count,
      lowestId: lowestId ?? undefined,
      highestId: highestId ?? undefined,
      consumers: (consumers ?? []).map(([name, held]) => ({ name, count: Number(held) })),
    };
  }

  /** The dead letters of a group. */
  deadLetters(stream: StreamName, group: string): DeadLetters {
    const { deadLetters } = groupKeys(this.context.keys, streamNameOf(stream), group);
    return {
      list: async ({ limit = 100 } = {}) => {
        const found = await this.#read('stream.dead-letters', deadLetters, (client) =>
          client.xrevrange(deadLetters, '+', '-', 'COUNT', limit),
        );
        return ((found ?? []) as [string, string[]][]).map(([id, fields]) => toDeadLetter(id, fields));
      },
    };
  }

  #key(stream: StreamName): string {
    return streamKey(this.context.keys, streamNameOf(stream));
  }

  /** @returns `undefined` when what it asks for does not exist */
  async #read(name: string, key: string, send: (client: RedisClient) => Promise<unknown>): Promise<unknown> {
    try {
      return await this.context.connection.run({ name, effect: 'read', key, send });
    } catch (error) {
      const missing = error instanceof RedisCommandError && /NOGROUP|no such key/.test(error.message);
      if (missing) return undefined;
      throw error;
    }
  }
}

function toDeadLetter(id: string, fields: string[]): DeadLetter {
  const facts = toRecord(fields) as Record<string, string | undefined>;
  const message = readFields(fields);
  const originalId = facts['x-dlq-id'] ?? '';
  return {
    id,
    originalId,
    messageId: message.messageId ?? originalId,
    type: message.type,
    key: message.key,
    headers: orElse(() => decodeHeaders(message.headers), {}),
    body: orElse(() => decodeValue(message.data ?? ''), undefined),
    reason: facts['x-dlq-reason'] ?? '',
    error: facts['x-dlq-error'] ?? '',
    attempts: Number(facts['x-dlq-attempt'] ?? 0),
    deliveries: Number(facts['x-dlq-deliveries'] ?? 0),
    at: new Date(Number(facts['x-dlq-at'] ?? 0)),
  };
}

/** A dead letter may be one because it cannot be decoded. */
function orElse<T>(decode: () => T, otherwise: T): T {
  try {
    return decode();
  } catch {
    return otherwise;
  }
}
