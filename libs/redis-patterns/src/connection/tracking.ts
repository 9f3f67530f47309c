import type { ClientRequest } from './client-factory.js';
import { addressOf, type HostPort } from './connection-url.js';
import type { RoleSocket } from './role-state.js';
import type { TrackingFeed, TrackingListener } from './redis-connection.js';
import { TrackingSocket, type TrackingSocketSetup } from './tracking-socket.js';

export interface TrackingSetup extends Pick<TrackingSocketSetup, 'prefix' | 'onState' | 'onRefused'> {
  /** The socket to open, to this node of a Cluster or to the one server. */
  readonly request: (node?: HostPort) => ClientRequest;
  /** In a Cluster the masters that there are now; `undefined`: there is one server. */
  readonly masters: () => readonly HostPort[] | undefined;
  /** Changes may have been missed for so many milliseconds; told when that is over. */
  readonly onGap: (reason: string, durationMs: number) => void;
}

const THE_SERVER = 'the server';

/**
 * Server-assisted client-side caching in broadcast mode (Redis docs, "Client-side caching reference"): each master tells,
 * on a socket of its own, which keys with a prefix change. Sockets for commands stay as they are, and the server
 * remembers no key. The feed is armed while every master is.
 */
export class Tracking implements TrackingFeed {
  readonly #sockets = new Map<string, TrackingSocket>();
  #armed = false;
  #lost: { readonly reason: string; readonly at: number } | undefined;
  #closed = false;

  constructor(
    private readonly setup: TrackingSetup,
    private readonly listener: TrackingListener,
  ) {
    this.follow();
  }

  get sockets(): readonly RoleSocket[] {
    return [...this.#sockets.values()].map(({ handle, armed }) => ({ handle, hears: armed }));
  }

  get armed(): boolean {
    return this.#armed;
  }

  /** Opens and closes sockets as the masters are now. */
  follow(): void {
    if (this.#closed) return;
    const masters = this.setup.masters();
    const wanted = new Map<string, HostPort | undefined>(
      masters?.map((master) => [addressOf(master), master]) ?? [[THE_SERVER, undefined]],
    );
    for (const [address, socket] of this.#sockets) {
      if (wanted.has(address)) continue;
      socket.close();
      this.#sockets.delete(address);
    }
    for (const [address, master] of wanted) {
      if (!this.#sockets.has(address)) this.#sockets.set(address, this.#open(master));
    }
    this.#judge('the masters changed');
  }

  /** Drops the sockets and takes new ones. */
  reset(): void {
    for (const socket of this.#sockets.values()) socket.reset();
  }

  close(): void {
    this.#closed = true;
    for (const socket of this.#sockets.values()) socket.close();
    this.#sockets.clear();
    this.#armed = false;
  }

  #open(master: HostPort | undefined): TrackingSocket {
    return new TrackingSocket({
      ...this.setup,
      request: this.setup.request(master),
      armedChanged: () => this.#judge('the connection was lost'),
      invalidated: (keys) => {
        if (this.#armed) this.listener.invalidated(keys);
      },
    });
  }

  #judge(reason: string): void {
    const sockets = [...this.#sockets.values()];
    const armed = sockets.length > 0 && sockets.every((socket) => socket.armed);
    if (armed === this.#armed || this.#closed) return;
    this.#armed = armed;
    if (armed) this.listener.armed();
    else this.listener.lost(reason);
    if (armed && this.#lost !== undefined) this.setup.onGap(this.#lost.reason, performance.now() - this.#lost.at);
    this.#lost = armed ? undefined : { reason, at: performance.now() };
  }
}
