import { createConnection, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { AbstractConnector, SentinelConnector, type RedisOptions } from 'ioredis';

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
    // ioredis may disconnect in the same turn.
    return new Promise((resolve, reject) => {
      process.nextTick(() => {
        if (this.connecting) resolve(this.#open());
        else reject(new Error('Connection is closed.'));
      });
    });
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

/** The same for a master that Sentinels name. */
export class SentinelSocketConnector extends SentinelConnector {
  constructor(options: unknown) {
    super(options as ConstructorParameters<typeof SentinelConnector>[0]);
  }

  override async connect(...args: Parameters<SentinelConnector['connect']>): ReturnType<SentinelConnector['connect']> {
    const stream = await super.connect(...args);
    stream.on('error', () => undefined);
    return stream;
  }
}
