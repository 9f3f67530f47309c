import type { ApplicationConnection } from '../connection/index.js';
import { InvalidOptionsError } from '../core/errors.js';
import { TelemetryListener, type Telemetry, type TelemetryPayload, type WatchedLoop } from '../telemetry/index.js';
import type { ResolvedHealthOptions } from './health.options.js';
import { rolesOf, statusOf, type ConnectionHealth, type HealthReport } from './health-report.js';
import { askMasters, type Answers } from './node-answers.js';

/** What an application has of connections. */
export interface Connections {
  readonly connectionNames: readonly string[];
  connection(name: string): ApplicationConnection;
  readonly telemetry: Telemetry;
}

interface Asked {
  readonly at: number;
  readonly answers: Promise<Answers>;
}

/** Looks at the connections of one application: at what this process knows, and by one PING. */
export class HealthExaminer {
  readonly #asked = new Map<string, Asked>();
  readonly #gaps = new Map<string, number>();
  readonly #lags = new Map<string, TelemetryPayload<'lag'>>();
  readonly #listener: TelemetryListener;
  #followsLags = false;

  constructor(private readonly connections: Connections) {
    this.#listener = new TelemetryListener(connections.telemetry.app);
    this.#listener.on('gap', ({ connection }) => void this.#gaps.set(connection, performance.now()));
  }

  close(): void {
    this.#listener.close();
  }

  /** @throws InvalidOptionsError for a name that no connection has */
  async examine(options: ResolvedHealthOptions, where: string): Promise<HealthReport> {
    const names = options.connections ?? this.connections.connectionNames;
    this.#checkNames([...names, ...(options.critical ?? [])], where);
    if (options.lag !== undefined || options.oldestPending !== undefined) this.#followLags();
    const found = await Promise.all(names.map(async (name) => [name, await this.#connection(name, options)] as const));
    return { status: statusOf(found.map(([, { status }]) => status)), connections: Object.fromEntries(found) };
  }

  /** Loops of this process that should turn and do not. Asks nobody. */
  stuckLoops(quiet: number): string[] {
    return this.#loops(({ turnedAt }) => turnedAt, quiet).map(({ name }) => name);
  }

  async #connection(name: string, options: ResolvedHealthOptions): Promise<ConnectionHealth> {
    const connection = this.connections.connection(name);
    const { silent, reasons: answers } = await this.#ask(connection, options);
    const { roles, reasons } = rolesOf(connection.roles());
    const all = [...answers, ...reasons, ...this.#local(connection, options)];
    const isCritical = options.critical?.includes(name) ?? connection.purpose === 'durable';
    const status = silent && isCritical ? 'down' : all.length > 0 ? 'degraded' : 'up';
    return { status, roles, reasons: [...new Set(all)] };
  }

  /** What this process has seen by itself. */
  #local({ name }: ApplicationConnection, { quiet, gap, lag, oldestPending }: ResolvedHealthOptions): string[] {
    const reasons: string[] = [];
    const lastGap = this.#gaps.get(name);
    if (lastGap !== undefined && performance.now() - lastGap < gap) reasons.push('gap');
    for (const loop of this.#loops(({ answeredAt }) => answeredAt, quiet)) {
      if (loop.connection === name) reasons.push(`reader ${loop.name}`);
    }
    for (const event of this.#lags.values()) {
      if (event.connection !== name) continue;
      const label = `${event.stream}/${event.group}`;
      if (lag !== undefined && (event.lag ?? 0) > lag) reasons.push(`lag ${label}`);
      if (oldestPending !== undefined && event.oldestMs > oldestPending) reasons.push(`pending ${label}`);
    }
    return reasons;
  }

  #loops(momentOf: (loop: WatchedLoop) => number, quiet: number): WatchedLoop[] {
    const now = performance.now();
    const isQuiet = (loop: WatchedLoop): boolean => !loop.waiting && now - momentOf(loop) > quiet * loop.period;
    return [...this.connections.telemetry.loops].filter(isQuiet);
  }

  /** One question at a time, whose answer is given again for a while. */
  #ask(connection: ApplicationConnection, { timeout, cacheFor, memory }: ResolvedHealthOptions): Promise<Answers> {
    const question = `${connection.name} ${memory}`;
    const known = this.#asked.get(question);
    const now = performance.now();
    if (known !== undefined && now - known.at < cacheFor) return known.answers;
    const answers = askMasters(connection, timeout, memory);
    this.#asked.set(question, { at: now, answers });
    return answers;
  }

  #followLags(): void {
    if (this.#followsLags) return;
    this.#followsLags = true;
    this.#listener.on('lag', (event) => {
      this.#lags.set(`${event.connection} ${event.stream} ${event.group}`, event);
    });
  }

  #checkNames(names: readonly string[], where: string): void {
    const known = this.connections.connectionNames;
    const unknown = names.find((name) => !known.includes(name));
    if (unknown === undefined) return;
    const list = known.map((name) => `'${name}'`).join(', ');
    throw new InvalidOptionsError(where, [
      { path: 'connections', message: `no connection is named '${unknown}'; defined are ${list}` },
    ]);
  }
}
