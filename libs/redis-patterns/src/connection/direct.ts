import { Redis, type RedisOptions } from 'ioredis';
import { onAbort } from '../core/abort.js';
import { within } from '../core/timer.js';
import { sentinelAuth } from './client-factory.js';
import { safeCause } from './classify.js';
import { addressOf, natMapped, type HostPort } from './connection-url.js';
import type { ResolvedConnectionOptions } from './connection.schema.js';
import { SocketConnector } from './connectors.js';
import { Secret } from './secret.js';
import { plainTextWarning } from './startup.js';

/** A server that was to be reached, and its socket, or why there is none. */
export type DirectServer = { readonly address: string } & (
  | { readonly client: DirectClient; readonly reason?: undefined }
  | { readonly client?: undefined; readonly reason: string }
);

/** A command as it goes to the server: words and bytes. */
export type DirectCommand = readonly (string | number | Buffer)[];

/** A socket to one server alone, for who looks at servers rather than at keys. It is not connected anew, and never hangs. */
export class DirectClient {
  constructor(
    readonly address: string,
    private readonly redis: Redis,
    private readonly timeout: () => number,
  ) {}

  /** One command; texts of the reply are buffers. Rejects with what may be told: no arguments, no credentials. */
  call([name, ...args]: DirectCommand): Promise<unknown> {
    return this.#inTime(this.redis.callBuffer(String(name), ...args));
  }

  /** Many commands in one write; the reply of each, or its error. */
  async pipeline(commands: readonly DirectCommand[]): Promise<unknown[]> {
    const pipeline = this.redis.pipeline();
    for (const [name, ...args] of commands) pipeline.call(String(name), ...args);
    const replies = (await this.#inTime(pipeline.exec())) ?? [];
    return replies.map(([error, reply]) => (error === null ? reply : safeCause(error)));
  }

  /** Ends it now; what waits rejects. Idempotent. */
  close(): void {
    this.redis.disconnect();
  }

  async #inTime<T>(work: Promise<T>): Promise<T> {
    try {
      return await inTime(work, Math.max(1, this.timeout()), () => this.close());
    } catch (error) {
      throw safeCause(error);
    }
  }
}

/**
 * Sockets to the masters of a deployment, one each, beside the pools of the connection: standalone the server, with Sentinel
 * the master that they name, in a Cluster each node that holds slots. Whoever opened them closes them.
 */
export class DirectServers {
  readonly mode: ResolvedConnectionOptions['topology']['mode'];
  /** Why the way to the servers is unsafe: plain text to another host. */
  readonly plainText: string | undefined;
  readonly #clients = new Set<DirectClient>();

  constructor(
    private readonly options: ResolvedConnectionOptions,
    /** Name in `CLIENT LIST`. */
    readonly socketName: string,
  ) {
    this.mode = options.topology.mode;
    this.plainText = plainTextWarning(options);
  }

  /**
   * Connects to every master.
   *
   * @param timeout milliseconds that one command may take, asked before each
   * @throws Error when it is not known which servers there are
   */
  async masters(timeout: () => number, signal?: AbortSignal): Promise<DirectServer[]> {
    const addresses = await this.#masterAddresses(timeout, signal);
    return Promise.all(addresses.map((address) => this.#reach(address, timeout, signal)));
  }

  /** The first Sentinel that answers, and the name of the master; `undefined` without Sentinels. */
  async sentinel(
    timeout: () => number,
    signal?: AbortSignal,
  ): Promise<{ server: DirectServer; name: string } | undefined> {
    const { topology } = this.options;
    if (topology.mode !== 'sentinel') return undefined;
    let last: DirectServer | undefined;
    for (const address of topology.sentinels) {
      last = await this.#reach(address, timeout, signal, sentinelAuth(this.options));
      if (last.client !== undefined) break;
    }
    return { server: last!, name: topology.name };
  }

  /** The same server without credentials, as a stranger would come. */
  async stranger(address: string, timeout: () => number, signal?: AbortSignal): Promise<DirectServer> {
    const colon = address.lastIndexOf(':');
    const { tls } = this.options;
    const options = tls === undefined ? {} : { tls: tls.reveal() };
    return this.#reach(
      { host: address.slice(0, colon), port: Number(address.slice(colon + 1)) },
      timeout,
      signal,
      options,
    );
  }

  /** Whether credentials are given. */
  get authenticates(): boolean {
    return this.options.password !== undefined;
  }

  /** Ends every socket. Idempotent. */
  close(): void {
    for (const client of this.#clients) client.close();
    this.#clients.clear();
  }

  async #masterAddresses(timeout: () => number, signal?: AbortSignal): Promise<HostPort[]> {
    const { topology } = this.options;
    if (topology.mode === 'standalone') return [{ host: topology.host, port: topology.port }];
    if (topology.mode === 'sentinel') return [await this.#namedMaster(timeout, signal)];
    let reason = '';
    for (const node of topology.nodes) {
      const seed = await this.#reach(node, timeout, signal);
      try {
        if (seed.client === undefined) throw new Error(seed.reason);
        const slots = (await seed.client.call(['CLUSTER', 'SLOTS'])) as [number, number, [Buffer, number]][];
        seed.client.close();
        return this.#slotOwners(slots, node);
      } catch (error) {
        reason = (error as Error).message;
      }
    }
    throw new Error(reason);
  }

  #slotOwners(slots: readonly [number, number, [Buffer, number]][], seed: HostPort): HostPort[] {
    const owners = new Map<string, HostPort>();
    for (const [, , [host, port]] of slots) {
      // A node that does not know its own address is the one that was asked.
      const address = { host: host.toString() || seed.host, port };
      owners.set(addressOf(address), this.#mapped(address));
    }
    return [...owners.values()].toSorted((one, other) => (addressOf(one) < addressOf(other) ? -1 : 1));
  }

  async #namedMaster(timeout: () => number, signal?: AbortSignal): Promise<HostPort> {
    const { server, name } = (await this.sentinel(timeout, signal))!;
    if (server.client === undefined) throw new Error(`no Sentinel answers (${server.reason})`);
    const address = (await server.client.call(['SENTINEL', 'GET-MASTER-ADDR-BY-NAME', name])) as Buffer[] | null;
    server.client.close();
    if (address === null) throw new Error('the Sentinels know no master of that name');
    return this.#mapped({ host: address[0]!.toString(), port: Number(address[1]) });
  }

  #mapped(address: HostPort): HostPort {
    return natMapped(this.options.ioredis?.natMap, addressOf(address)) ?? address;
  }

  async #reach(
    { host, port }: HostPort,
    timeout: () => number,
    signal: AbortSignal | undefined,
    credentials?: RedisOptions,
  ): Promise<DirectServer> {
    const address = addressOf({ host, port });
    signal?.throwIfAborted();
    const redis = new Redis({
      ...(this.options.ioredis as RedisOptions | undefined),
      ...(credentials ?? (await this.#credentials())),
      host,
      port,
      connectionName: this.socketName,
      ...PROFILE,
      connectTimeout: Math.max(10, Math.min(this.options.connectTimeout, timeout())),
    });
    let cause: Error | undefined;
    redis.on('error', (error: unknown) => (cause ??= safeCause(error)));
    const client = new DirectClient(address, redis, timeout);
    this.#clients.add(client);
    const stop = onAbort(signal, () => client.close());
    try {
      // A server that hangs takes the connection, but answers no AUTH.
      await inTime(redis.connect(), Math.max(10, timeout()));
      return { address, client };
    } catch (error) {
      client.close();
      signal?.throwIfAborted();
      return { address, reason: (cause ?? safeCause(error)).message };
    } finally {
      stop();
    }
  }

  async #credentials(): Promise<RedisOptions> {
    const { username, password, tls } = this.options;
    const secret = password instanceof Secret ? password.reveal() : await password?.();
    return {
      ...(username === undefined ? {} : { username }),
      ...(secret === undefined ? {} : { password: secret }),
      ...(tls === undefined ? {} : { tls: tls.reveal() }),
    };
  }
}

const PROFILE: RedisOptions = {
  Connector: SocketConnector,
  lazyConnect: true,
  // Arrays where RESP3 has maps: replies look the same on every version.
  protocol: 2,
  db: 0,
  retryStrategy: () => null,
  reconnectOnError: null,
  enableReadyCheck: false,
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  autoResubscribe: false,
  enableAutoPipelining: false,
  // CLIENT SETINFO is one command more than the user has to be allowed.
  disableClientInfo: true,
  disconnectTimeout: 500,
};

const LATE = Symbol('late');

/** @param onLate called when `work` takes longer than `ms` */
async function inTime<T>(work: Promise<T>, ms: number, onLate?: () => void): Promise<T> {
  const reply = await within(ms, work, LATE, { keepAlive: true });
  if (reply !== LATE) return reply as T;
  onLate?.();
  throw new Error(`no answer within ${Math.ceil(ms)} ms`);
}
