import { InvalidOptionsError } from '../core/errors.js';
import { checkOptionNames } from '../core/options.js';
import { InvalidKeyError } from '../keys/index.js';
import { isMessageSchema, type MessageSchema } from './message-schema.js';
import { resolveRetention, type RetentionOptions } from './stream.options.js';

/** Payload types by event type. */
export type StreamEvents = object;

/** Names of the events of a stream; of one that says nothing of them: any text. */
export type EventType<Events extends StreamEvents> = [keyof Events] extends [never] ? string : keyof Events & string;

/** Payload of the events of these names. */
export type EventPayload<Events extends StreamEvents, Type> = Type extends keyof Events ? Events[Type] : unknown;

/** A stream as a value, see {@link defineStream}. */
export interface StreamDefinition<Events extends StreamEvents = StreamEvents> {
  readonly name: string;
  /** What the payload of each type must look like, for producers and consumers. */
  readonly schema?: Readonly<Record<string, MessageSchema>>;
  readonly retention?: RetentionOptions;
  /** @deprecated has no effect */
  readonly partitions?: number;
  /** Carries the types only; never set. A parameter, so that a stream with types does not pass for one without. */
  readonly events?: (events: Events) => void;
}

/** Whatever names a stream, with types or without. */
export type StreamName = string | StreamDefinition<never>;

/**
 * Says once what a stream is called and what it carries; accepted wherever a stream name is.
 *
 * @throws InvalidOptionsError for a wrong option
 * @example
 * ```ts
 * interface OrderEvents { placed: { orderId: string }; cancelled: { orderId: string; reason: string } }
 * export const orders = defineStream<OrderEvents>({ name: 'orders', schema: { placed: z.object({ orderId: z.string() }) } });
 *
 * await producer.publish(orders, { orderId: '7' }, { type: 'placed' }); // the payload must fit the type
 * ```
 */
export function defineStream<Events extends StreamEvents = StreamEvents>(definition: {
  name: string;
  /** By type. A payload that does not fit is not published, and one that was becomes a dead letter. */
  schema?: { readonly [Type in EventType<Events>]?: MessageSchema };
  retention?: RetentionOptions;
  /**
   * Has no effect, whatever the number, and may change at any time. Default 1.
   *
   * @deprecated leave it out: order is kept by lanes, one for each key, which need no partitions; see `ordering` of a consumer
   */
  partitions?: number;
}): StreamDefinition<Events> {
  const { name, schema, retention, partitions = 1 } = definition;
  const wrong = (path: string, message: string): never => {
    throw new InvalidOptionsError(`defineStream('${name}')`, [{ path, message }]);
  };
  checkOptionNames(definition, ['name', 'schema', 'retention', 'partitions'], `defineStream('${name}')`);
  if (typeof name !== 'string' || name === '') wrong('name', "must be a name such as 'orders'");
  if (!isPartitionCount(partitions)) wrong('partitions', PARTITIONS);
  resolveRetention(retention, name);
  for (const [type, value] of Object.entries(schema ?? {})) {
    if (!isMessageSchema(value)) wrong(`schema.${type}`, 'must be a Standard Schema (zod, valibot, …) or a class');
  }
  return Object.freeze({
    name,
    ...(schema && { schema: { ...schema } as never }),
    ...(retention && { retention }),
    ...(definition.partitions !== undefined && { partitions }),
  });
}

const PARTITIONS = 'must be a whole number from 1; it has no effect: leave it out';

function isPartitionCount(partitions: unknown): boolean {
  return Number.isInteger(partitions) && (partitions as number) >= 1;
}

/** @throws InvalidKeyError for what names no stream, such as a definition that a circular import has not filled in yet */
export function streamNameOf(stream: StreamName): string {
  const name: unknown = typeof stream === 'string' ? stream : (stream as { name?: unknown } | null | undefined)?.name;
  if (typeof name === 'string') return name;
  const what = stream === undefined || stream === null ? String(stream) : `a ${typeof stream} without a name`;
  throw new InvalidKeyError(`the stream is ${what}; give its name, or what defineStream() has made`);
}
