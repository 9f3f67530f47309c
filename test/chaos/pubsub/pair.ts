import type { PubSubOptions } from '../../../libs/redis-patterns/src/pubsub/index.js';
import { eventually } from '../../support/eventually.js';
import type { PlainConnection } from '../../support/topologies.js';
import { Flood, Heard, openPubSub, type TestPubSub } from '../../integration/pubsub/test-pubsub.js';

/** One subscriber for each way of delivery, and somebody who publishes to both all the time. */
export interface Pair {
  readonly subscriber: TestPubSub;
  readonly publisher: TestPubSub;
  readonly plain: Heard;
  readonly kept: Heard;
  readonly plainFlood: Flood;
  readonly keptFlood: Flood;
  /** Waits until both hear what is published now. */
  hearsAgain(timeout?: number): Promise<void>;
  /** Ends publishing, and waits until both have heard the last message. */
  settle(timeout?: number): Promise<void>;
  close(): Promise<void>;
}

export interface PairOptions {
  readonly connection: PlainConnection;
  /** Where the publisher connects to; default: where the subscriber does. */
  readonly publisherConnection?: PlainConnection;
  readonly namespace: string;
  readonly names?: { readonly plain: string; readonly kept: string };
  readonly sharded?: boolean;
  readonly connectionOptions?: object;
}

export async function openPair({
  connection,
  publisherConnection = connection,
  namespace,
  names = { plain: 'plain', kept: 'kept' },
  sharded = false,
  connectionOptions = {},
}: PairOptions): Promise<Pair> {
  const options: PubSubOptions = {
    channels: { [names.plain]: { sharded }, [names.kept]: { sharded, delivery: 'reliable' } },
  };
  const subscriber = await openPubSub(connection, namespace, options, connectionOptions);
  const publisher = await openPubSub(publisherConnection, namespace, options);
  const [plain, kept] = [new Heard(), new Heard()];
  await subscriber.pubsub.subscribe(names.plain, plain.onMessage, { onGap: plain.onGap });
  await subscriber.pubsub.subscribe(names.kept, kept.onMessage, { onGap: kept.onGap });
  const plainFlood = new Flood((n) => publisher.pubsub.publish(names.plain, n), 2);
  const keptFlood = new Flood((n) => publisher.pubsub.publish(names.kept, n), 2);
  const both = [
    [plain, plainFlood],
    [kept, keptFlood],
  ] as const;
  const hears = (numbers: readonly number[], timeout: number): Promise<unknown> =>
    eventually(() => both.every(([heard], index) => Number(heard.messages.at(-1) ?? 0) >= numbers[index]!), {
      timeout,
      what: 'both subscribers to hear what is published',
    });
  const close = async (): Promise<void> => {
    await Promise.all(both.map(([, flood]) => flood.stop()));
    await subscriber.close();
    await publisher.close();
  };
  const hearsAgain = async (timeout = 15_000): Promise<void> => {
    await hears(
      both.map(([, { tried }]) => tried + 1),
      timeout,
    );
  };
  const settle = async (timeout = 15_000): Promise<void> => {
    await Promise.all(both.map(([, flood]) => flood.stop()));
    await hears(
      both.map(([, { answered }]) => answered.at(-1) ?? 0),
      timeout,
    );
  };
  return { subscriber, publisher, plain, kept, plainFlood, keptFlood, hearsAgain, settle, close };
}
