import type { Redis } from 'ioredis';
import { RedisConnectError } from './connection.errors.js';
import type { ConnectionReporter } from './connection-reporter.js';
import type { ResolvedConnectionOptions } from './connection.schema.js';
import { evictionFault, type ConnectionUser } from './eviction.js';
import { readServerInfo, type ServerInfo } from './server-info.js';
import { serverFault } from './startup.js';
import { unusedPassword, unusedSentinelPassword } from './unused-password.js';

/** Compares the servers with what was configured: at boot, or as soon as one answers. */
export class Inspection {
  /** What the servers said last. */
  servers: readonly ServerInfo[] = [];
  /** The patterns that keep keys here. */
  readonly users: ConnectionUser[] = [];
  #question: Promise<void> | undefined;

  constructor(
    private readonly connection: string,
    private readonly options: ResolvedConnectionOptions,
    private readonly reporter: ConnectionReporter,
    private readonly masters: () => readonly Redis[],
  ) {}

  /** Asks the servers again; who asks meanwhile gets the same answer. */
  refresh(): Promise<void> {
    this.#question ??= this.#ask().finally(() => (this.#question = undefined));
    return this.#question;
  }

  async #ask(): Promise<void> {
    const servers = await Promise.all(this.masters().map(readServerInfo));
    if (servers.length > 0) this.servers = servers;
  }

  /**
   * For a boot that waits.
   *
   * @throws RedisConnectError when a server cannot be worked with, or must not be
   */
  async pass(): Promise<void> {
    // A Sentinel that hangs holds nothing up: nothing depends on what it says.
    void unusedSentinelPassword(this.options).then((unused) => this.#warnOfPassword(unused));
    const [unused] = await Promise.all([unusedPassword(this.masters()), this.refresh()]);
    this.#warnOfPassword(unused);
    const fault = this.#fault();
    if (fault !== undefined) throw new RedisConnectError(this.connection, fault);
    const doubt = this.#doubt();
    if (doubt !== undefined) this.reporter.warning('ERR_REDIS_EVICTION', doubt);
  }

  /** For a boot that went on without a server: says what would have failed it. */
  async report(): Promise<void> {
    await this.pass().catch((error: RedisConnectError) => this.reporter.error(error.code, 'cannot be used', error));
  }

  #warnOfPassword(unused: string | undefined): void {
    if (unused !== undefined) this.reporter.warning('ERR_REDIS_PASSWORD_UNUSED', unused);
  }

  #fault(): string | undefined {
    for (const server of this.servers) {
      const fault = serverFault(server, this.options.topology);
      if (fault !== undefined) return fault;
    }
    return this.#strictness === 'fail' ? this.#evictionFault() : undefined;
  }

  #doubt(): string | undefined {
    return this.#strictness === 'warn' ? this.#evictionFault() : undefined;
  }

  get #strictness(): 'fail' | 'warn' | 'off' {
    const { evictionCheck, purpose } = this.options;
    return evictionCheck ?? (purpose === 'durable' ? 'fail' : 'warn');
  }

  #evictionFault(): string | undefined {
    const fault = evictionFault(this.options.purpose, this.servers, this.users);
    return fault === undefined ? undefined : `${fault} (evictionCheck: '${this.#strictness}')`;
  }
}
