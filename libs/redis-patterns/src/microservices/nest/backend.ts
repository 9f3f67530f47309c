import { nodeFor, type RedisClient } from '../../connection/index.js';
import { ConnectionSource } from '../../nest/connection-source.js';
import { patternParts } from '../../nest/pattern-parts.js';
import { PatternsApp } from '../../nest/patterns-app.js';
import { resolveModuleOptions } from '../../nest/redis-patterns.options.js';
import { TelemetryLogger } from '../../nest/telemetry-logger.js';
import { resolveTelemetryOptions } from '../../nest/telemetry.options.js';
import { TelemetryListener } from '../../telemetry/index.js';
import type { RedisStreamsOptions } from '../microservices.options.js';
import { REPLY_CHANNELS } from '../wire.js';

/** State of the connection, in the words of Nest's own Redis transport. */
export type RedisStreamsStatus = 'connected' | 'reconnecting' | 'disconnected';

/** Events of the client of ioredis: what `on()` takes. */
export interface RedisStreamsEvents extends Record<string, (...args: never[]) => void> {
  connect: () => void;
  ready: () => void;
  error: (error: Error) => void;
  close: () => void;
  reconnecting: (delay: number) => void;
  end: () => void;
}

const STATUS: Readonly<Record<string, RedisStreamsStatus>> = { ready: 'connected', reconnecting: 'reconnecting' };

/** The connection and the services of one server or client: a strategy is made before there is an application to ask. */
export class Backend {
  readonly #app: PatternsApp;
  readonly #logger: TelemetryLogger;
  readonly #listener: TelemetryListener;
  readonly #services: { close?(): Promise<void> }[] = [];
  #started: Promise<void> | undefined;
  #closing: Promise<void> | undefined;

  /** @throws InvalidOptionsError */
  constructor(
    { namespace, connection, stream }: RedisStreamsOptions,
    where: string,
    private readonly onStatus: (status: RedisStreamsStatus) => void,
  ) {
    const options = { namespace, connection, stream: { ...stream }, pubsub: REPLY_CHANNELS };
    this.#app = new PatternsApp(resolveModuleOptions(options, where), where, new ConnectionSource());
    this.#listener = new TelemetryListener(this.#app.telemetry.app);
    this.#logger = new TelemetryLogger(this.#app.telemetry, resolveTelemetryOptions(undefined, where));
  }

  get client(): RedisClient {
    return this.#app.connection('default').client;
  }

  on(event: string, callback: (...args: never[]) => void): void {
    this.client.on(event as 'error', callback as () => void);
  }

  /** Time of the server that dates the messages of a stream, milliseconds since the epoch. */
  async now(stream: string): Promise<number> {
    const key = this.#app.keys.main('stream', stream);
    const [seconds, micros] = await this.#app.connection('default').run({
      name: 'microservice.time',
      effect: 'read',
      key,
      wait: true,
      send: (client) => nodeFor(client, key).time(),
    });
    return Number(seconds) * 1000 + Number(micros) / 1000;
  }

  /** A service of a pattern, by its class or that of its engine. */
  service<Service extends object>(token: abstract new (...args: never[]) => Service): Service {
    for (const part of patternParts) {
      const definition = part.services.find(
        (candidate) => candidate.token.prototype instanceof token || (candidate.token as unknown) === token,
      );
      if (definition === undefined) continue;
      const options = this.#app.options.patterns.get(part) as never;
      const made = definition.create(this.#app.engineContext(part), options, (name) => this.#app.connection(name));
      this.#services.push(made as { close?(): Promise<void> });
      return made as Service;
    }
    throw new TypeError(`${token.name} is no service of a pattern`);
  }

  /** Opens the connection, and waits for it as its `startup` says. Idempotent. */
  start(): Promise<void> {
    this.#started ??= this.#start();
    return this.#started;
  }

  async #start(): Promise<void> {
    this.#logger.start();
    this.#listener.on('connection', ({ role, to }) => {
      const status = STATUS[to];
      if (role === 'command' && status !== undefined) this.onStatus(status);
    });
    const used = patternParts.filter(({ option }) => option === 'stream' || option === 'pubsub');
    await this.#app.start(used);
  }

  /** Ends the services, then the connection. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    for (const service of this.#services) await service.close?.();
    await this.#app.close();
    this.#logger.stop();
    this.#listener.close();
    this.onStatus('disconnected');
  }
}
