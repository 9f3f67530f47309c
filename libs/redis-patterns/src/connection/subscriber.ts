import type { Redis } from 'ioredis';
import { classify } from './classify.js';
import type { ClientRequest } from './client-factory.js';
import { ClientHandle, type StateChange } from './client-handle.js';
import { Heartbeat } from './heartbeat.js';
import type { ChannelKind, Subscription, SubscriptionHandler } from './redis-connection.js';
import { SubscribedChannel } from './subscribed-channel.js';

export interface SubscriberSetup {
  readonly request: ClientRequest;
  readonly onState: (change: StateChange) => void;
  /** Tells of a subscription that the server refused. */
  readonly onRefused: (error: Error) => void;
  /** Messages may have been missed for so many milliseconds; told when that is over. */
  readonly onGap: (reason: string, durationMs: number) => void;
}

const PONG_TIMEOUT = 2000;

/**
 * The one socket on which a connection listens. What it is asked to listen to outlives every socket: each new one is told
 * all of it again, and whoever may have missed something in between hears so, once, before the next message.
 */
export class Subscriber {
  /** @internal for its state */
  readonly handle: ClientHandle;
  readonly #heartbeat: Heartbeat;
  readonly #channels = { channel: new Map<string, SubscribedChannel>(), pattern: new Map<string, SubscribedChannel>() };
  #reason = 'the connection was lost';
  /** Since when a channel that was listened to is not any more. */
  #lost: { readonly reason: string; readonly at: number } | undefined;

  constructor(private readonly setup: SubscriberSetup) {
    this.handle = new ClientHandle(setup.request, { onState: (change) => this.#changed(change) });
    this.#heartbeat = new Heartbeat(this.handle, setup.request.options.pingInterval, PONG_TIMEOUT);
    const { client } = this.handle;
    client.on('messageBuffer', (channel: Buffer, payload: Buffer) => {
      const name = channel.toString();
      this.#channels.channel.get(name)?.deliver(payload, name);
    });
    client.on('pmessageBuffer', (pattern: string, channel: Buffer, payload: Buffer) =>
      this.#channels.pattern.get(pattern)?.deliver(payload, channel.toString()),
    );
    this.handle.connect();
  }

  /** Whether all that it is asked to listen to is confirmed. */
  get hears(): boolean {
    return Object.values(this.#channels).every((channels) =>
      [...channels.values()].every(({ confirmed }) => confirmed),
    );
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

  #changed(change: StateChange): void {
    this.setup.onState(change);
    if (change.to === 'close') {
      for (const channels of Object.values(this.#channels)) {
        for (const channel of channels.values()) {
          if (channel.lost(this.#reason)) this.#lost ??= { reason: this.#reason, at: performance.now() };
        }
      }
      this.#reason = 'the connection was lost';
    } else if (change.to === 'ready') {
      this.#ask('channel', [...this.#channels.channel.values()]);
      this.#ask('pattern', [...this.#channels.pattern.values()]);
    }
  }

  /** Without a reply nothing is lost: the socket is gone, and the next one is asked again. */
  #ask(kind: ChannelKind, channels: readonly SubscribedChannel[]): void {
    if (channels.length === 0) return;
    const client = this.handle.client as Redis;
    const names = channels.map(({ name }) => name);
    const asked = kind === 'channel' ? client.subscribe(...names) : client.psubscribe(...names);
    const { epoch } = this.handle;
    asked.then(
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
        if (channels.length > 1) return channels.forEach((channel) => this.#ask(kind, [channel]));
        const refusal = new Error(`Redis refused a subscription: ${failure.text}`);
        channels[0]!.fail(refusal);
        this.setup.onRefused(refusal);
      },
    );
  }

  #forget(kind: ChannelKind, name: string): void {
    const client = this.handle.client as Redis;
    const asked = kind === 'channel' ? client.unsubscribe(name) : client.punsubscribe(name);
    asked.catch(() => undefined);
  }
}
