import { randomUUID } from 'node:crypto';
import type { ApplicationConnection, EngineContext } from '../connection/index.js';
import { closest } from '../core/options.js';
import { InvalidOptionsError } from '../core/errors.js';
import { KeyBuilder } from '../keys/index.js';
import { Telemetry } from '../telemetry/index.js';
import type { ConnectionSource } from './connection-source.js';
import type { AnyPatternPart } from './pattern-part.js';
import { DEFAULT_CONNECTION, type ResolvedModuleOptions } from './redis-patterns.options.js';
import { MissingConnection } from './missing-connection.js';

/** What one application has of this library: its options, connections and keys. Nothing of it is shared. */
export class PatternsApp {
  readonly telemetry = new Telemetry(randomUUID());
  readonly keys: KeyBuilder;
  readonly #connections = new Map<string, ApplicationConnection>();

  constructor(
    readonly options: ResolvedModuleOptions,
    /** Begins the message of an option error: `RedisPatternsModule.forRoot`. */
    readonly where: string,
    source: ConnectionSource,
  ) {
    this.keys = new KeyBuilder(options.namespace);
    for (const [name, connection] of options.connections) {
      this.#connections.set(name, source.connect(name, options.namespace, connection, this.telemetry));
    }
  }

  get connectionNames(): readonly string[] {
    return [...this.#connections.keys()];
  }

  hasConnection(name: string): boolean {
    return this.#connections.has(name);
  }

  /** @throws InvalidOptionsError when there is no connection of that name */
  connection(name: string): ApplicationConnection {
    const found = this.#connections.get(name);
    if (found !== undefined) return found;
    const guess = closest(name, this.connectionNames);
    const hint = guess === undefined ? `defined are ${this.connectionNames.join(', ')}` : `did you mean '${guess}'?`;
    throw new InvalidOptionsError(this.where, [
      { path: `connections.${name}`, message: `no such connection; ${hint}` },
    ]);
  }

  /** What the engines of a pattern are built on. */
  engineContext(part: AnyPatternPart): EngineContext {
    const { keys, telemetry } = this;
    const missing = this.missingConnection(part);
    if (missing !== undefined) return { connection: new MissingConnection(missing), keys, telemetry };
    return { connection: this.connection(this.#connectionName(part)), keys, telemetry };
  }

  /** Why a pattern cannot be used: it names no connection, and there is no default one. */
  missingConnection(part: AnyPatternPart): InvalidOptionsError | undefined {
    if (this.#connections.has(this.#connectionName(part))) return undefined;
    const message = `is needed: no connection is named '${DEFAULT_CONNECTION}', so name the one to use (${this.#known})`;
    return new InvalidOptionsError(this.where, [{ path: `${part.option}.connection`, message }]);
  }

  /** What to say to a class that injects the client of the default connection, where there is none. */
  missingClient(owner: string): InvalidOptionsError {
    const message = `is needed by ${owner}, which has @InjectRedis(); give that the name of the one to use (${this.#known})`;
    return new InvalidOptionsError(this.where, [{ path: 'connection', message }]);
  }

  get #known(): string {
    return this.connectionNames.map((name) => `'${name}'`).join(' or ');
  }

  /**
   * Opens the connections, and waits for them as their `startup` says.
   *
   * @param used the patterns that the application uses: the servers must fit them
   * @throws RedisConnectError when one cannot be used; then all are closed
   */
  async start(used: readonly AnyPatternPart[]): Promise<void> {
    for (const part of used) {
      const nodes = part.nodesOf?.(this.options.patterns.get(part)!) ?? [];
      for (const name of new Set([this.#connectionName(part), ...nodes])) {
        const connection = this.connection(name);
        if (part.keeps !== undefined) connection.usedBy({ name: part.option, keeps: part.keeps });
      }
    }
    const all = [...this.#connections.values()];
    for (const connection of all) connection.open();
    const results = await Promise.allSettled(all.map((connection) => connection.settleBoot()));
    const failed = results.find((result) => result.status === 'rejected');
    if (failed === undefined) return;
    await this.close();
    throw failed.reason;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#connections.values()].map((connection) => connection.close()));
  }

  #connectionName(part: AnyPatternPart): string {
    return this.options.patterns.get(part)?.connection ?? DEFAULT_CONNECTION;
  }
}
