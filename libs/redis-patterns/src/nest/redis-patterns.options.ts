import { z } from 'zod';
import type { InjectionToken, ModuleMetadata, OptionalFactoryDependency, Type } from '@nestjs/common';
import {
  resolveConnectionOptions,
  type ConnectionOptions,
  type ResolvedConnectionOptions,
} from '../connection/index.js';
import { InvalidOptionsError, type OptionIssue } from '../core/errors.js';
import { closest, parseOptions } from '../core/options.js';
import type { AnyPatternPart } from './pattern-part.js';
import { patternParts, type PatternOptions } from './pattern-parts.js';
import { resolveTelemetryOptions, type ResolvedTelemetryOptions, type TelemetryOptions } from './telemetry.options.js';

/** Options of {@link RedisPatternsModule}. Each pattern takes `connection`, the name of the connection that it uses. */
export interface RedisPatternsOptions extends PatternOptions {
  /** First part of every key: 1 to 64 of `A-Z a-z 0-9 . _ -`. Two applications on one Redis take different ones. */
  namespace: string;
  /** The connection named `'default'`: a URL or options. */
  connection?: string | ConnectionOptions;
  /** More connections by name, for example `{ cache: …, durable: … }`. */
  connections?: Record<string, string | ConnectionOptions>;
  /** What the library says of itself. */
  telemetry?: TelemetryOptions;
}

/** Gives the options, for `useClass` and `useExisting`. */
export interface RedisPatternsOptionsFactory {
  createRedisPatternsOptions(): RedisPatternsOptions | Promise<RedisPatternsOptions>;
}

/** Options that are known only when the application starts. Exactly one of `useFactory`, `useClass`, `useExisting`. */
export interface RedisPatternsAsyncOptions extends Pick<ModuleMetadata, 'imports'> {
  /** Visible everywhere without an import. Default true. */
  isGlobal?: boolean;
  /** Names of connections besides `'default'` that `@InjectRedis(name)` shall inject. */
  connectionNames?: readonly string[];
  inject?: (InjectionToken | OptionalFactoryDependency)[];
  // The arguments are what `inject` names: only the caller knows their types.
  // oxlint-disable-next-line typescript/no-explicit-any
  useFactory?: (...args: any[]) => RedisPatternsOptions | Promise<RedisPatternsOptions>;
  useClass?: Type<RedisPatternsOptionsFactory>;
  useExisting?: InjectionToken;
}

export const DEFAULT_CONNECTION = 'default';

/** The module's options, parsed once. */
export interface ResolvedModuleOptions {
  readonly namespace: string;
  readonly connections: ReadonlyMap<string, ResolvedConnectionOptions>;
  readonly patterns: ReadonlyMap<AnyPatternPart, { readonly connection?: string | undefined }>;
  /** Patterns that the application configured, hence uses. */
  readonly configured: ReadonlySet<AnyPatternPart>;
  readonly telemetry: ResolvedTelemetryOptions;
}

const NAME = /^[A-Za-z0-9._-]{1,64}$/;
const NAMESPACE_RULE =
  "is required: the first part of every key, 1 to 64 letters, digits, '.', '_' or '-', for example namespace: 'shop'";
const connectionValue = () =>
  z.custom<string | ConnectionOptions>(
    (value) => typeof value === 'string' || (typeof value === 'object' && value !== null),
    "must be a URL such as 'redis://127.0.0.1:6379' or connection options",
  );

const schema = z.strictObject({
  namespace: z.string(NAMESPACE_RULE).regex(NAME, NAMESPACE_RULE),
  connection: connectionValue().optional(),
  connections: z
    .record(z.string().regex(NAME, "a name is 1 to 64 letters, digits, '.', '_' or '-'"), connectionValue())
    .optional(),
  telemetry: z.unknown().optional(),
  ...Object.fromEntries(patternParts.map((part) => [part.option, z.unknown().optional()])),
});

/**
 * Parses everything that was given to the module.
 *
 * @throws InvalidOptionsError naming each option and its remedy
 */
export function resolveModuleOptions(raw: RedisPatternsOptions, where: string): ResolvedModuleOptions {
  const { namespace, connection, connections = {}, telemetry, ...rest } = parseOptions(schema, raw, where);
  if (connection !== undefined && connections[DEFAULT_CONNECTION] !== undefined) {
    throw new InvalidOptionsError(where, [
      { path: 'connections.default', message: "and 'connection' both define the default connection; give it once" },
    ]);
  }
  const found = new FoundIssues(where);
  const resolved = new Map<string, ResolvedConnectionOptions>();
  const resolve = (name: string, options: string | ConnectionOptions, path: string): void => {
    found.in(() => resolved.set(name, resolveConnectionOptions(options, where, path)));
  };
  if (connection !== undefined) resolve(DEFAULT_CONNECTION, connection, 'connection');
  for (const [name, options] of Object.entries(connections)) resolve(name, options, `connections.${name}`);
  if (connection === undefined && Object.keys(connections).length === 0) {
    found.add('connection', "is missing: give a URL such as 'redis://127.0.0.1:6379', or connection options");
  }
  const given = rest as Record<string, unknown>;
  const patterns = new Map<AnyPatternPart, { readonly connection?: string | undefined }>();
  for (const part of patternParts) {
    found.in(() => patterns.set(part, part.resolve(given[part.option], where)));
  }
  let telemetryOptions: ResolvedModuleOptions['telemetry'] | undefined;
  found.in(() => (telemetryOptions = resolveTelemetryOptions(telemetry, where)));
  found.throwAny();
  const known = [...resolved.keys()];
  for (const [part, options] of patterns) {
    if (options.connection !== undefined)
      found.in(() => checkConnectionName(`${part.option}.connection`, options.connection!, known, where));
    for (const node of part.nodesOf?.(options) ?? []) {
      found.in(() => checkConnectionName(`${part.option}.nodes`, node, known, where));
    }
  }
  found.throwAny();
  const configured = new Set(patternParts.filter((part) => given[part.option] !== undefined));
  return { namespace, connections: resolved, patterns, configured, telemetry: telemetryOptions! };
}

/** What is wrong in several parts is told at once. */
class FoundIssues {
  readonly #issues: OptionIssue[] = [];

  constructor(private readonly where: string) {}

  add(path: string, message: string): void {
    this.#issues.push({ path, message });
  }

  in(parse: () => unknown): void {
    try {
      parse();
    } catch (error) {
      if (!(error instanceof InvalidOptionsError)) throw error;
      this.#issues.push(...error.issues);
    }
  }

  /** @throws InvalidOptionsError */
  throwAny(): void {
    if (this.#issues.length > 0) throw new InvalidOptionsError(this.where, this.#issues);
  }
}

function checkConnectionName(path: string, name: string, known: readonly string[], where: string): void {
  if (known.includes(name)) return;
  const guess = closest(name, known);
  const hint =
    guess === undefined ? `defined are ${known.map((text) => `'${text}'`).join(', ')}` : `did you mean '${guess}'?`;
  throw new InvalidOptionsError(where, [{ path, message: `no connection is named '${name}'; ${hint}` }]);
}
