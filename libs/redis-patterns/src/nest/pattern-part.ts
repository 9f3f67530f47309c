import type { Provider, Type } from '@nestjs/common';
import type { EngineContext, RedisConnection } from '../connection/index.js';

/** A service of a pattern: the class that users inject, and how it is made. */
export interface ServiceDefinition<Resolved> {
  readonly token: Type<object>;
  /** @param connectionOf gives further connections, by name */
  create: (context: EngineContext, options: Resolved, connectionOf: (name: string) => RedisConnection) => object;
}

/** What a pattern adds to the module. One list of these is all that the module knows about patterns. */
export interface PatternPart<
  Resolved extends { readonly connection?: string | undefined } = { readonly connection?: string | undefined },
> {
  /** Its key in the module's options, also in messages. */
  readonly option: string;
  /** `'cache'`: its keys may disappear before their time; `'durable'`: then it would break its promise. Absent: it keeps none. */
  readonly keeps?: 'cache' | 'durable';
  /** Parses its options; `raw` is `undefined` where the application gave none. */
  resolve(raw: unknown, where: string): Resolved;
  /** Names of the connections that it uses besides `connection`, as its option `nodes` gives them. */
  nodesOf?(options: Resolved): readonly string[];
  readonly services: readonly ServiceDefinition<Resolved>[];
  /** Its method decorators as they are written, such as `'@Cacheable'`: an application that has one uses the pattern. */
  readonly decorators: readonly string[];
  /** Whether one of its decorators is on the class itself, which uses the pattern as well. */
  readonly marks?: (owner: object) => boolean;
  /** Guards, explorers and runtimes; they may inject the services. */
  readonly providers?: readonly Provider[];
}

/** A part of any pattern, for code that does not look into its options. */
export type AnyPatternPart = Omit<PatternPart, 'services'> & { readonly services: readonly ServiceDefinition<never>[] };

/** A service that takes part in the begin and the end of the application. */
export interface Hooked {
  /**
   * Looks at the servers, once the connections are open.
   *
   * @throws InvalidOptionsError when they do not fit the options
   */
  checkServers?(where: string): Promise<void>;
  /** Ends work that must end before the connections close. */
  close?(): Promise<void>;
}
