import type { RedisConnection, TrackingFeed } from '../../connection/index.js';

/** What is done with the changes of keys that begin with one prefix. */
export interface FeedListener {
  /** These changed; `null`: any may have. */
  changed(keys: readonly string[] | null): void;
}

/** Tells of changes, from its first use on. Without `tracking` nothing is told, and it counts as armed. */
export class Feed {
  #feed: TrackingFeed | undefined;
  /** Not the feed's own state: what was kept is flushed before this is set, and when it is cleared. */
  #armed: boolean;

  constructor(
    private readonly connection: RedisConnection,
    private readonly prefix: string,
    private readonly tracking: boolean,
    private readonly listener: FeedListener,
  ) {
    this.#armed = !tracking;
  }

  /** Whether copies may be kept and used now. */
  get armed(): boolean {
    if (this.tracking && this.#feed === undefined) this.#open();
    return this.#armed;
  }

  close(): void {
    this.#armed = false;
    this.#feed?.close();
  }

  #open(): void {
    const { listener } = this;
    this.#feed = this.connection.track(this.prefix, {
      armed: () => {
        listener.changed(null);
        this.#armed = true;
      },
      lost: () => {
        this.#armed = false;
        listener.changed(null);
      },
      invalidated: (keys) => listener.changed(keys === null ? null : keys.map(String)),
    });
  }
}
