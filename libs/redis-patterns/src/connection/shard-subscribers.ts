import { addressOf, type HostPort } from './connection-url.js';
import type { Subscription, SubscriptionHandler } from './redis-connection.js';
import { SubscribedChannel } from './subscribed-channel.js';
import type { Subscriber } from './subscriber.js';

export interface ShardSubscribersSetup {
  /** The master of the channel's slot, as far as that is known. */
  readonly masterOf: (name: string) => HostPort | undefined;
  readonly open: (node: HostPort, onMoved: (name: string) => void) => Subscriber;
  /** Asks the Cluster for a fresh slot map; {@link ShardSubscribers.follow} is called when it is there. */
  readonly refresh: () => void;
}

/** A channel, and where it is listened to now. */
interface Placed {
  readonly channel: SubscribedChannel;
  node: string | undefined;
  subscription: Subscription | undefined;
  /** Since when the slot map names another node; `performance.now()`. */
  doubtedSince?: number | undefined;
}

const MOVED = { reason: 'its slot moved to another node', moved: true } as const;
/** Between two attempts to find the node of a channel, milliseconds. */
const REFRESH_INTERVAL = 200;
/** The same while a node cannot be reached. */
const LOST_INTERVAL = 1000;
/** A node that was asked for the map may not have heard yet what the others know; milliseconds. */
const LONGEST_DOUBT = 1000;

/**
 * Sharded channels of a Cluster (Redis docs, "Sharded Pub/Sub"): only the nodes of a channel's slot know its messages, so
 * each channel is listened to at the master of its slot, with one socket for each master, and follows the slot.
 */
export class ShardSubscribers {
  readonly #channels = new Map<string, Placed>();
  readonly #nodes = new Map<string, Subscriber>();
  #timer: NodeJS.Timeout | undefined;
  /** When it fires; `performance.now()`. */
  #due = 0;
  #closed = false;

  constructor(private readonly setup: ShardSubscribersSetup) {}

  get subscribers(): Iterable<Subscriber> {
    return this.#nodes.values();
  }

  subscribe(name: string, handler: SubscriptionHandler): Subscription {
    let placed = this.#channels.get(name);
    if (placed === undefined) {
      placed = { channel: new SubscribedChannel(name), node: undefined, subscription: undefined };
      this.#channels.set(name, placed);
      this.#place(placed);
    }
    const known = placed;
    const entry = known.channel.add(handler);
    return {
      confirmed: (signal) => entry.confirmed(signal),
      close: () => {
        if (!known.channel.remove(entry) || this.#channels.get(name) !== known) return;
        this.#channels.delete(name);
        this.#leave(known);
        this.#closeIdle();
      },
    };
  }

  /** Goes where the slots are now. */
  follow(): void {
    if (this.#closed) return;
    for (const placed of this.#channels.values()) {
      const master = this.setup.masterOf(placed.channel.name);
      const isThere = placed.node !== undefined && (master === undefined || addressOf(master) === placed.node);
      if (isThere) placed.doubtedSince = undefined;
      else if (!placed.channel.confirmed) this.#place(placed);
      else this.#doubt(placed);
    }
    this.#closeIdle();
    this.#watchLost();
  }

  reset(reason: string): void {
    for (const subscriber of this.#nodes.values()) subscriber.reset(reason);
  }

  close(error: Error): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    for (const { channel } of this.#channels.values()) channel.fail(error);
    this.#channels.clear();
    for (const subscriber of this.#nodes.values()) subscriber.close(error);
    this.#nodes.clear();
  }

  #place(placed: Placed): void {
    this.#leave(placed);
    const { channel } = placed;
    const master = this.setup.masterOf(channel.name);
    if (master === undefined) return this.#refreshSoon();
    placed.node = addressOf(master);
    const subscription = this.#subscriber(master).subscribe('shard', channel.name, {
      message: (payload) => channel.deliver(payload, channel.name),
      lost: (loss) => {
        channel.lost(loss);
        this.#watchLost();
      },
      gap: () => channel.confirm(),
    });
    placed.subscription = subscription;
    subscription.confirmed().then(
      () => {
        if (placed.subscription === subscription) channel.confirm();
      },
      (error: Error) => {
        if (placed.subscription === subscription) channel.fail(error);
      },
    );
  }

  /** It still listens where the slot is said to be no more, and where nobody has ended that. */
  #doubt(placed: Placed): void {
    const now = performance.now();
    placed.doubtedSince ??= now;
    if (now - placed.doubtedSince < LONGEST_DOUBT) return this.#refreshSoon();
    // That node may be cut off from the others, and nobody knows for how long.
    placed.channel.lost({ ...MOVED, from: 0 });
    this.#place(placed);
  }

  #leave(placed: Placed): void {
    const from = this.#nodes.get(placed.node ?? '')?.wholeUntil ?? 0;
    placed.channel.lost({ ...MOVED, from });
    placed.doubtedSince = undefined;
    placed.subscription?.close();
    placed.subscription = undefined;
    placed.node = undefined;
  }

  #subscriber(node: HostPort): Subscriber {
    const address = addressOf(node);
    const known = this.#nodes.get(address);
    if (known !== undefined) return known;
    const made = this.setup.open(node, (name) => this.#moved(name, address));
    this.#nodes.set(address, made);
    this.#watchLost();
    return made;
  }

  #moved(name: string, from: string): void {
    const placed = this.#channels.get(name);
    if (placed?.node !== from) return;
    this.#leave(placed);
    this.#refreshSoon();
  }

  /** A master that cannot be reached may have a successor soon, and nobody else may ask for the map. */
  #watchLost(): void {
    const isLost = [...this.#nodes.values()].some(({ handle }) => !handle.isReady);
    if (isLost) this.#refreshSoon(LOST_INTERVAL);
  }

  #refreshSoon(delay = REFRESH_INTERVAL): void {
    const due = performance.now() + delay;
    if (this.#timer !== undefined && this.#due <= due) return;
    clearTimeout(this.#timer);
    this.#due = due;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      if (!this.#closed) this.setup.refresh();
    }, delay).unref();
  }

  #closeIdle(): void {
    for (const [address, subscriber] of this.#nodes) {
      if (!subscriber.isIdle) continue;
      this.#nodes.delete(address);
      subscriber.close(new Error('nobody listens here any more'));
    }
  }
}
