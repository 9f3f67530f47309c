import type { Redis } from 'ioredis';
import { classify } from './classify.js';
import { ClientHandle, type StateChange } from './client-handle.js';
import type { ClientRequest } from './client-factory.js';
import { Heartbeat } from './heartbeat.js';

export interface TrackingSocketSetup {
  readonly request: ClientRequest;
  readonly prefix: string;
  readonly onState: (change: StateChange) => void;
  /** Tells that the server does not let this user track keys. */
  readonly onRefused: (error: Error) => void;
  readonly armedChanged: () => void;
  readonly invalidated: (keys: readonly Buffer[] | null) => void;
}

/** Copies in this process are served until a dead socket is noticed: so it is, within 2.5 s. */
const PING_INTERVAL = 1000;
const PONG_TIMEOUT = 1500;
const INVALIDATE = '__redis__:invalidate';
/** Milliseconds until a server that refused is asked again: somebody has to change its users first. */
const REFUSED_RETRY = 5000;

/** The feed of one server: a socket that redirects its notices to itself. */
export class TrackingSocket {
  armed = false;
  /** @internal for its state */
  readonly handle: ClientHandle;
  readonly #heartbeat: Heartbeat;
  #retry: NodeJS.Timeout | undefined;

  constructor(private readonly setup: TrackingSocketSetup) {
    this.handle = new ClientHandle(setup.request, {
      onState: (change) => {
        setup.onState(change);
        if (change.to === 'ready') void this.#arm();
        else if (change.to === 'close') this.#disarm();
      },
    });
    this.#heartbeat = new Heartbeat(this.handle, PING_INTERVAL, PONG_TIMEOUT);
    // ioredis passes the array of keys on as it comes, although it calls it a message.
    this.handle.client.on('messageBuffer', (_channel: Buffer, keys: readonly Buffer[] | null) =>
      setup.invalidated(keys),
    );
    this.handle.connect();
  }

  /** Drops the socket and takes a new one. */
  reset(): void {
    this.handle.reset();
  }

  close(): void {
    this.#heartbeat.stop();
    clearTimeout(this.#retry);
    this.handle.destroy();
  }

  /** In this order: once it is subscribed, a RESP2 socket takes no other command. */
  async #arm(): Promise<void> {
    const client = this.handle.client as Redis;
    try {
      const id = await client.client('ID');
      await client.call('CLIENT', 'TRACKING', 'ON', 'REDIRECT', id, 'BCAST', 'PREFIX', this.setup.prefix);
      await client.subscribe(INVALIDATE);
    } catch (error) {
      const { outcome, text } = classify(error);
      // A lost socket is followed by one that is armed anew.
      if (outcome !== 'refused') return;
      this.setup.onRefused(new Error(`Redis refused to track keys: ${text}`));
      this.#retry = setTimeout(() => void this.#arm(), REFUSED_RETRY).unref();
      return;
    }
    this.armed = true;
    this.setup.armedChanged();
  }

  #disarm(): void {
    clearTimeout(this.#retry);
    this.armed = false;
    this.setup.armedChanged();
  }
}
