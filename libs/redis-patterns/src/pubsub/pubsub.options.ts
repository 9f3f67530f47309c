import { z } from 'zod';
import type { Duration } from '../core/duration.js';
import { durationSchema, parseOptions } from '../core/options.js';
import { isStandardSchema, type StandardSchema } from '../core/standard-schema.js';
import type { GapListener } from './gap.js';

/** `'reliable'` keeps the messages of a channel for a while, so that a running subscriber can fetch what it missed. */
export type Delivery = 'at-most-once' | 'reliable';

/** What is said of one channel, for those who publish and those who subscribe alike. */
export interface ChannelSettings {
  /** Default `'at-most-once'`: what is published while a subscriber is not connected is missed, and reported as a gap. */
  delivery?: Delivery;
  /** In a Cluster only the nodes of the channel's slot get its messages, not all of them. Default false. */
  sharded?: boolean;
  /** Messages of a reliable channel that are kept at least. Default 10 000. */
  maxLen?: number;
  /** Time after the last message until a reliable channel is forgotten. At least 10 s, default 1 h. */
  ttl?: Duration;
  /** Senders count their messages, so that a hole which no lost connection explains is noticed. Default false. */
  sequence?: boolean;
  /** Payloads are texts, sent and received as they are, for other programs. Default false: JSON that keeps types. */
  raw?: boolean;
  /** Payloads must fit this schema (zod, valibot, arktype …): checked when they are sent and when they are received. */
  schema?: StandardSchema;
}

/** Options of pub/sub: `RedisPatternsModule.forRoot({ pubsub })`. */
export interface PubSubOptions {
  /** Name of the connection. Default `'default'`. */
  connection?: string;
  /** Most messages that wait for one handler. Default 1000. */
  maxPending?: number;
  /** Which message is dropped when too many wait (of a reliable channel none is: it is read again later). Default `'drop-oldest'`. */
  overflow?: 'drop-oldest' | 'drop-newest';
  /** Messages that one handler gets at the same time. Default `'serial'`: one after the other, in order. */
  concurrency?: 'serial' | number;
  /** Longest wait for handlers when a subscription or the application ends. Default 10 s. */
  drainTimeout?: Duration;
  /**
   * Settings by channel name. A name also stands for all channels that begin with it and a colon: `stock` for `stock:42`
   * and `['stock', 42]`.
   */
  channels?: Record<string, ChannelSettings>;
}

/** How one subscription listens; what is not given is taken from {@link PubSubOptions}. */
export interface SubscriptionOptions extends Pick<PubSubOptions, 'maxPending' | 'overflow' | 'concurrency'> {
  delivery?: Delivery;
  sharded?: boolean;
}

/** Options of `PubSubService.subscribe()`. */
export interface SubscribeOptions extends SubscriptionOptions {
  /** Called, and waited for, before the first message after a gap. */
  onGap?: GapListener;
  /** Names the subscription in gaps and in the log. */
  name?: string;
  /** Longest wait for the confirmation of Redis. Default 5 s. */
  timeout?: Duration;
  /** Ends the wait for the confirmation. */
  signal?: AbortSignal;
}

/** Options of `PubSubService.publish()`, for channels that `pubsub.channels` does not know. */
export type PubSubPublishOptions = Pick<SubscriptionOptions, 'delivery' | 'sharded'>;

export type ResolvedChannel = Readonly<
  Required<Omit<ChannelSettings, 'ttl' | 'schema'>> & { ttl: number; schema?: StandardSchema | undefined }
>;

type Given<T> = { readonly [Name in keyof T]?: T[Name] | undefined };

/** {@link PubSubOptions} with defaults filled in; durations are milliseconds. */
export interface ResolvedPubSubOptions {
  readonly connection?: string | undefined;
  readonly maxPending: number;
  readonly overflow: 'drop-oldest' | 'drop-newest';
  readonly concurrency: number;
  readonly drainTimeout: number;
  readonly channels: Readonly<Record<string, Given<ResolvedChannel>>>;
}

export type ResolvedSubscription = Given<
  Pick<ResolvedPubSubOptions, 'maxPending' | 'overflow' | 'concurrency'> & Pick<ResolvedChannel, 'delivery' | 'sharded'>
>;

const delivery = z.enum(['at-most-once', 'reliable'], "must be 'at-most-once' or 'reliable'");
const overflow = z.enum(['drop-oldest', 'drop-newest'], "must be 'drop-oldest' or 'drop-newest'");
const maxPending = z.int().min(1).max(1_000_000);
const concurrency = z
  .union([z.literal('serial'), z.int().min(1).max(10_000)], "must be 'serial' or a whole number from 1")
  .transform((value) => (value === 'serial' ? 1 : value));

const channel = z
  .strictObject({
    delivery: delivery.optional(),
    sharded: z.boolean().optional(),
    maxLen: z.int().min(1).optional(),
    ttl: durationSchema({ min: 10_000 }).optional(),
    sequence: z.boolean().optional(),
    raw: z.boolean().optional(),
    schema: z.custom<StandardSchema>(isStandardSchema, 'must be a Standard Schema, such as one of zod').optional(),
  })
  .superRefine(({ delivery: given, sequence, maxLen, ttl }, context) => {
    const issue = (path: string, message: string) => context.addIssue({ code: 'custom', path: [path], message });
    if (given === 'reliable' && sequence === true) {
      issue('sequence', "is for delivery: 'at-most-once'; reliable delivery notices every hole by itself");
    }
    if (given === 'reliable') return;
    if (maxLen !== undefined) issue('maxLen', "is only for delivery: 'reliable'");
    if (ttl !== undefined) issue('ttl', "is only for delivery: 'reliable'");
  });

const schema = z.strictObject({
  connection: z.string().optional(),
  maxPending: maxPending.default(1000),
  overflow: overflow.default('drop-oldest'),
  concurrency: concurrency.prefault('serial'),
  drainTimeout: durationSchema().prefault('10s'),
  channels: z.record(z.string().min(1), channel).default({}),
});

const subscriptionShape = {
  delivery: delivery.optional(),
  sharded: z.boolean().optional(),
  maxPending: maxPending.optional(),
  overflow: overflow.optional(),
  concurrency: concurrency.optional(),
};
const subscriptionSchema = z.strictObject(subscriptionShape);
const publishSchema = subscriptionSchema.pick({ delivery: true, sharded: true });
const subscribeSchema = z.strictObject({
  ...subscriptionShape,
  onGap: z.custom<GapListener>((value) => typeof value === 'function', 'must be a function').optional(),
  name: z.string().min(1).optional(),
  timeout: durationSchema({ min: 1 }).prefault('5s'),
  signal: z.custom<AbortSignal>((value) => value instanceof AbortSignal, 'must be an AbortSignal').optional(),
});

export type ResolvedSubscribe = z.output<typeof subscribeSchema>;

/** @throws InvalidOptionsError naming each wrong option below `pubsub.` */
export function resolvePubSubOptions(raw: unknown, where: string): ResolvedPubSubOptions {
  return parseOptions(schema, raw ?? {}, where, 'pubsub');
}

/** @throws InvalidOptionsError */
export function resolveSubscription(raw: unknown, where: string): ResolvedSubscription {
  return parseOptions(subscriptionSchema, raw ?? {}, where);
}

/** @throws InvalidOptionsError */
export function resolveSubscribe(raw: unknown): ResolvedSubscribe {
  return parseOptions(subscribeSchema, raw ?? {}, 'PubSubService.subscribe()');
}

/** @throws InvalidOptionsError */
export function resolvePublish(raw: unknown): Given<Pick<ResolvedChannel, 'delivery' | 'sharded'>> {
  return parseOptions(publishSchema, raw, 'PubSubService.publish()');
}
