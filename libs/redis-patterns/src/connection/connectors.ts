import { createConnection, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { AbstractConnector, SentinelConnector, type Redis, type RedisOptions } from 'ioredis';

/**
 * Opens sockets as ioredis does, and listens to their errors to the end. ioredis listens once: a TLS socket that is closed
 * in the middle of its handshake reports an error more than that, which nobody hears, and Node ends the process.
 */
export class SocketConnector extends AbstractConnector {
  override firstError?: Error;
  readonly #options: RedisOptions;

  /** @param options all those of the client; ioredis does not give them a type here */
  constructor(options: unknown) {
    const given = options as RedisOptions;
    super(given.disconnectTimeout ?? 2000);
    this.#options = given;
  }

  connect(): Promise<Socket> {
    this.connecting = true;
    return new Promise((resolve, reject) => {
      // ioredis may disconnect in the same turn.
      process.nextTick(() => {
        try {
          if (this.connecting) resolve(this.#open());
          else reject(new Error('Connection is closed.'));
        } catch (error) {
          reject(error as Error);
        }
      });
    });
  }

  /** ioredis would wait for the end of a socket that has ended already, and keep the process up for that time. */
  override disconnect(): void {
    if (this.stream?.destroyed === true) this.connecting = false;
    else super.disconnect();
  }

  #open(): Socket {
    const { host, port, family, path, tls } = this.#options;
    const address = path === undefined ? { host, port: port ?? 6379, family } : { path };
    const stream = tls === undefined ? createConnection(address) : connectTls({ ...address, ...tls });
    this.stream = stream;
    stream.on('error', (error) => (this.firstError ??= error));
    return stream;
  }
}

type Connect = SentinelConnector['connect'];
type ConnectToSentinel = (endpoint: unknown, options?: RedisOptions) => Redis;

/** The same for a master that Sentinels name, and for the sockets to them. */
export class SentinelSocketConnector extends SentinelConnector {
  #sentinelError: Error | undefined;

  constructor(options: unknown) {
    super(options as ConstructorParameters<typeof SentinelConnector>[0]);
    const inner = this as unknown as { connectToSentinel: ConnectToSentinel };
    const connectToSentinel = inner.connectToSentinel.bind(this);
    inner.connectToSentinel = (endpoint, more) => {
      const client = connectToSentinel(endpoint, { ...more, Connector: SocketConnector, disconnectTimeout: 500 });
      // Some of these clients have no listener: ioredis would print their errors.
      client.on('error', (error: Error) => (this.#sentinelError = error));
      return client;
    };
  }

  override async connect(...[report]: Parameters<Connect>): ReturnType<Connect> {
    const stream = await super.connect((type, error) => report(type, this.#causeOf(error)));
    stream.on('error', () => undefined);
    return stream;
  }

  /** That all Sentinels are unreachable says nothing; why the last one was says what to do. */
  #causeOf(error: Error): Error {
    return error.message.startsWith('All sentinels are unreachable') ? (this.#sentinelError ?? error) : error;
  }
}
