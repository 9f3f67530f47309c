import { Cluster, type Redis } from 'ioredis';
import type { ClientRequest, ConnectionRole } from './client-factory.js';
import type { StateChange } from './client-handle.js';
import type { ResolvedConnectionOptions } from './connection.schema.js';
import { addressOf, type HostPort } from './connection-url.js';
import { masterOf } from './node-for.js';
import type {
  ChannelKind,
  RedisClient,
  Subscription,
  SubscriptionHandler,
  TrackingFeed,
  TrackingListener,
} from './redis-connection.js';
import { roleState, type RoleState } from './role-state.js';
import { ShardSubscribers } from './shard-subscribers.js';
import { Subscriber } from './subscriber.js';
import { Tracking } from './tracking.js';

export interface ListeningSetup {
  readonly options: ResolvedConnectionOptions;
  /** `<namespace>:<connection>`, for the names of the sockets. */
  readonly socketPrefix: string;
  /** The client for commands: in a Cluster it knows the nodes. */
  readonly client: RedisClient;
  readonly onState: (role: ConnectionRole, change: StateChange) => void;
  /** Tells what the server does not allow this user. */
  readonly onRefused: (error: Error) => void;
  /** Something may have been missed for so many milliseconds; told when that is over. */
  readonly onGap: (kind: 'pubsub' | 'tracking', reason: string, durationMs: number) => void;
}

/**
 * The sockets of a connection that only listen: one subscriber, those of sharded channels, and the tracking feeds. None is
 * opened before it is used.
 */
export class Listening {
  readonly #cluster: Cluster | undefined;
  #subscriber: Subscriber | undefined;
  /** Of sharded channels, where there is one server. */
  #shardSubscriber: Subscriber | undefined;
  /** The same in a Cluster. */
  readonly #shards: ShardSubscribers | undefined;
  /** The node that the subscriber was sent to, when it was one that the Cluster itself named. */
  #home: string | undefined;
  readonly #feeds = new Set<Tracking>();
  #serial = 0;

  constructor(private readonly setup: ListeningSetup) {
    if (!(setup.client instanceof Cluster)) return;
    this.#cluster = setup.client;
    this.#shards = new ShardSubscribers({
      masterOf: (name) => {
        const master = masterOf(this.#cluster!, name);
        return master && hostPortOf(master);
      },
      open: (node, onMoved) => this.#open(() => node, onMoved),
      refresh: () => this.#cluster!.refreshSlotsCache(() => this.#shards?.follow()),
    });
    this.#cluster.on('refresh', () => this.#follow());
    this.#cluster.on('-node', () => this.#follow());
  }

  subscribe(kind: ChannelKind, name: string, handler: SubscriptionHandler): Subscription {
    if (kind !== 'shard') {
      this.#subscriber ??= this.#open(this.#cluster === undefined ? undefined : () => this.#chooseHome());
      return this.#subscriber.subscribe(kind, name, handler);
    }
    if (this.#shards !== undefined) return this.#shards.subscribe(name, handler);
    this.#shardSubscriber ??= this.#open(undefined);
    return this.#shardSubscriber.subscribe(kind, name, handler);
  }

  track(prefix: string, listener: TrackingListener): TrackingFeed {
    const feed = new Tracking(
      {
        prefix,
        request: (node) => this.#request('tracking', node === undefined ? undefined : () => node),
        masters: () => this.#cluster?.nodes('master').map(hostPortOf),
        onState: (change) => this.setup.onState('tracking', change),
        onRefused: this.setup.onRefused,
        onGap: (reason, ms) => this.setup.onGap('tracking', reason, ms),
      },
      listener,
    );
    this.#feeds.add(feed);
    return {
      get armed() {
        return feed.armed;
      },
      close: () => {
        this.#feeds.delete(feed);
        feed.close();
      },
    };
  }

  roles(): RoleState[] {
    const subscribers = [this.#subscriber, this.#shardSubscriber].filter((each) => each !== undefined);
    const tracking = [...this.#feeds].flatMap((feed) => feed.sockets);
    return [
      roleState('subscriber', [...subscribers, ...(this.#shards?.subscribers ?? [])]),
      roleState('tracking', tracking),
    ];
  }

  /** The sockets may be at the wrong server: takes new ones. */
  reset(reason: string): void {
    for (const subscriber of [this.#subscriber, this.#shardSubscriber, this.#shards]) subscriber?.reset(reason);
    for (const feed of this.#feeds) feed.reset();
  }

  close(error: Error): void {
    for (const subscriber of [this.#subscriber, this.#shardSubscriber, this.#shards]) subscriber?.close(error);
    for (const feed of this.#feeds) feed.close();
    this.#feeds.clear();
  }

  #open(node: (() => HostPort) | undefined, onMoved?: (name: string) => void): Subscriber {
    return new Subscriber({
      request: this.#request('subscriber', node),
      onState: (change) => this.setup.onState('subscriber', change),
      onRefused: this.setup.onRefused,
      onGap: (reason, ms) => this.setup.onGap('pubsub', reason, ms),
      ...(onMoved === undefined ? {} : { onMoved }),
    });
  }

  #request(role: ConnectionRole, node: (() => HostPort) | undefined): ClientRequest {
    const { options, socketPrefix } = this.setup;
    const socketName = `${socketPrefix}:${role}:${++this.#serial}`;
    return { options, role, socketName, ...(node === undefined ? {} : { node }) };
  }

  /**
   * A message reaches every node of a Cluster, so any of them serves: a random one, to spread the load, and not the one that was
   * lost: it may be cut off.
   */
  #chooseHome(): HostPort {
    const masters = this.#cluster!.nodes('master');
    const others = masters.filter(({ options }) => addressOf(options) !== this.#home);
    const known = others.length > 0 ? others : masters;
    const chosen = known[Math.floor(Math.random() * known.length)];
    this.#home = chosen === undefined ? undefined : addressOf(chosen.options);
    if (chosen !== undefined) return hostPortOf(chosen);
    const { topology } = this.setup.options;
    const seeds = topology.mode === 'cluster' ? topology.nodes : [];
    return { ...seeds[Math.floor(Math.random() * seeds.length)]! };
  }

  #follow(): void {
    for (const feed of this.#feeds) feed.follow();
    this.#shards?.follow();
    // A node that was taken out of the Cluster still answers, but hears nothing any more.
    const known = this.#cluster!.nodes('all').map((node) => addressOf(node.options));
    if (this.#home === undefined || known.length === 0 || known.includes(this.#home)) return;
    this.#home = undefined;
    this.#subscriber?.reset('its node left the Cluster');
  }
}

function hostPortOf({ options: { host, port } }: Redis): HostPort {
  return { host: host!, port: port! };
}
