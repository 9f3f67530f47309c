import type { Redis } from 'ioredis';
import { classify, type Failure } from './classify.js';
import type { ClientRequest } from './client-factory.js';
import { ClientHandle, type StateChange } from './client-handle.js';
import { Heartbeat } from './heartbeat.js';
import type { ChannelKind, Subscription, SubscriptionHandler, SubscriptionLoss } from './redis-connection.js';
import { SubscribedChannel } from './subscribed-channel.js';

export interface SubscriberSetup {
  readonly request: ClientRequest;
  readonly onState: (change: StateChange) => void;
  /** Tells of a subscription that the server refused. */
  readonly onRefused: (error: Error) => void;
  /** Messages may have been missed for so many milliseconds; told when that is over. */
  readonly onGap: (reason: string, durationMs: number) => void;
  /** The server does not serve this sharded channel, or serves it no more. */
  readonly onMoved?: (name: string) => void;
}

const PONG_TIMEOUT = 2000;
const KINDS: readonly ChannelKind[] = ['channel', 'pattern', 'shard'];

/** What ioredis keeps to itself: the channels of the socket. */
interface Insides {
  readonly condition?: { readonly subscriber: { channels(kind: 'ssubscribe'): string[] } | false };
}

/**
 * A socket that listens. What it is asked to listen to outlives every socket: each new one is told all of it again, and
 * whoever may have missed something in between hears so, once, before the next message. Sharded channels want a socket
 * without others: ioredis takes the end of the last one for the end of all.
 */
export class Subscriber {
  /** @internal for its state */
  readonly handle: ClientHandle;
  /** Since when a channel that was listened to is not any more. */
  #lost: { readonly reason: string; readonly at: number } | undefined;
  readonly #heartbeat: Heartbeat;
  readonly #channels: Readonly<Record<ChannelKind, Map<string, SubscribedChannel>>> = {
    channel: new Map(),
    pattern: new Map(),
    shard: new Map(),
  };
  #reason = 'the connection was lost';
  /** Until then the socket has brought everything; ms since the epoch. */
  #wholeUntil = 0;

  constructor(private readonly setup: SubscriberSetup) {
    this.handle = new ClientHandle(setup.request, { onState: (change) => this.#changed(change) });
    const { pingInterval } = setup.request.options;
    this.#heartbeat = new Heartbeat(this.handle, pingInterval, PONG_TIMEOUT, (askedAt) => {
      this.#wholeUntil = askedAt;
    });
    this.#listen();
    this.handle.connect();
  }

  /** See {@link SubscriptionLoss.from}. */
  get wholeUntil(): number {
    return this.#wholeUntil;
  }

  /** Whether all that it is asked to listen to is confirmed. */
  get hears(): boolean {
    return KINDS.every((kind) => [...this.#channels[kind].values()].every(({ confirmed }) => confirmed));
  }

  get isIdle(): boolean {
    return KINDS.every((kind) => this.#channels[kind].size === 0);
  }

  /** Listens from now on; the server's confirmation can be waited for. */
  subscribe(kind: ChannelKind, name: string, handler: SubscriptionHandler): Subscription {
    const channels = this.#channels[kind];
    let channel = channels.get(name);
    if (channel === undefined) {
      channel = new SubscribedChannel(name);
      channels.set(name, channel);
      if (this.handle.isReady) this.#ask(kind, [channel]);
    }
    const entry = channel.add(handler);
    return {
      confirmed: (signal) => entry.confirmed(signal),
      close: () => {
        if (!channel.remove(entry) || channels.get(name) !== channel) return;
        channels.delete(name);
        if (this.handle.isReady) this.#forget(kind, name);
      },
    };
  }

  /** Drops the socket and takes a new one. */
  reset(reason: string): void {
    this.#reason = reason;
    this.handle.reset();
  }

  close(error: Error): void {
    this.#heartbeat.stop();
    this.handle.destroy();
    for (const channels of Object.values(this.#channels)) {
      for (const channel of channels.values()) channel.fail(error);
      channels.clear();
    }
  }

  #listen(): void {
    const { channel, pattern, shard } = this.#channels;
    const { client } = this.handle;
    client.on('messageBuffer', (source: Buffer, payload: Buffer) => {
      const name = source.toString();
      channel.get(name)?.deliver(payload, name);
    });
    client.on('pmessageBuffer', (glob: string, source: Buffer, payload: Buffer) =>
      pattern.get(glob)?.deliver(payload, source.toString()),
    );
    client.on('smessageBuffer', (source: Buffer, payload: Buffer) => {
      const name = source.toString();
      shard.get(name)?.deliver(payload, name);
    });
    client.on('moved', () => this.#moved());
  }

  #changed(change: StateChange): void {
    this.setup.onState(change);
    if (change.to === 'close') {
      const loss: SubscriptionLoss = { reason: this.#reason, moved: false, from: this.#wholeUntil };
      for (const channels of Object.values(this.#channels)) {
        for (const channel of channels.values()) {
          if (channel.lost(loss)) this.#lost ??= { reason: this.#reason, at: performance.now() };
        }
      }
      this.#reason = 'the connection was lost';
    } else if (change.to === 'ready') {
      for (const kind of KINDS) this.#ask(kind, [...this.#channels[kind].values()]);
    }
  }

  /** ioredis says that the server has ended sharded channels, but not which. */
  #moved(): void {
    const { subscriber } = (this.handle.client as unknown as Insides).condition ?? {};
    const left = new Set(subscriber ? subscriber.channels('ssubscribe') : []);
    for (const channel of this.#channels.shard.values()) {
      if (!channel.confirmed || left.has(channel.name)) continue;
      channel.lost({ reason: 'its slot moved to another node', moved: true, from: this.#wholeUntil });
      this.setup.onMoved?.(channel.name);
    }
  }

  /** Without a reply nothing is lost: the socket is gone, and the next one is asked again. */
  #ask(kind: ChannelKind, channels: readonly SubscribedChannel[]): void {
    if (channels.length === 0) return;
    // One command must not name channels of several slots.
    if (kind === 'shard' && channels.length > 1) return channels.forEach((channel) => this.#ask(kind, [channel]));
    const { epoch } = this.handle;
    this.#send(
      kind,
      channels.map(({ name }) => name),
    ).then(
      () => {
        if (this.handle.epoch !== epoch) return;
        for (const channel of channels) channel.confirm();
        if (this.#lost !== undefined) this.setup.onGap(this.#lost.reason, performance.now() - this.#lost.at);
        this.#lost = undefined;
      },
      (error: unknown) => {
        const failure = classify(error);
        if (failure.outcome !== 'refused') return;
        // Redis refuses all for one: ask one by one, so that a name that is not allowed does not silence the others.
        if (channels.length > 1) channels.forEach((channel) => this.#ask(kind, [channel]));
        else this.#refused(kind, channels[0]!, failure);
      },
    );
  }

  #send(kind: ChannelKind, names: readonly string[]): Promise<unknown> {
    const client = this.handle.client as Redis;
    if (kind === 'channel') return client.subscribe(...names);
    return kind === 'pattern' ? client.psubscribe(...names) : client.ssubscribe(...names);
  }

  #refused(kind: ChannelKind, channel: SubscribedChannel, { passing, text }: Failure): void {
    const { onMoved, onRefused } = this.setup;
    if (kind === 'shard' && passing && onMoved !== undefined) return onMoved(channel.name);
    const refusal = new Error(`Redis refused a subscription: ${text}`);
    channel.fail(refusal);
    onRefused(refusal);
  }

  #forget(kind: ChannelKind, name: string): void {
    const client = this.handle.client as Redis;
    const unsubscribe = {
      channel: () => client.unsubscribe(name),
      pattern: () => client.punsubscribe(name),
      shard: () => client.sunsubscribe(name),
    };
    unsubscribe[kind]().catch(() => undefined);
  }
}
