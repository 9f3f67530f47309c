import {
  Inject,
  Injectable,
  type BeforeApplicationShutdown,
  type OnApplicationShutdown,
  type OnModuleInit,
} from '@nestjs/common';
import { ModuleRef, ModulesContainer } from '@nestjs/core';
import { InvalidOptionsError } from '../core/errors.js';
import { getRedisToken } from './inject-redis.js';
import { injectionsOf } from './injections.js';
import { usedPatterns } from './pattern-usage.js';
import { PatternsExplorer } from './method-decorator/index.js';
import type { AnyPatternPart, Hooked } from './pattern-part.js';
import { patternParts } from './pattern-parts.js';
import { PatternsApp } from './patterns-app.js';
import { DEFAULT_CONNECTION } from './redis-patterns.options.js';
import { TelemetryLogger } from './telemetry-logger.js';

/**
 * The module's beginning and end. Nest runs the hooks of a global module first at start and last at shutdown, which is
 * what connections need: they are there for everybody else's `onModuleInit`, and still there for everybody else's
 * `onApplicationShutdown`.
 */
@Injectable()
export class PatternsLifecycle implements OnModuleInit, BeforeApplicationShutdown, OnApplicationShutdown {
  readonly #logger: TelemetryLogger;

  /** Private to the language: whoever prints this object would else print the whole application. */
  readonly #modules: ModulesContainer;
  readonly #moduleRef: ModuleRef;

  constructor(
    @Inject(PatternsApp) private readonly app: PatternsApp,
    @Inject(ModulesContainer) modules: ModulesContainer,
    @Inject(ModuleRef) moduleRef: ModuleRef,
    @Inject(PatternsExplorer) private readonly explorer: PatternsExplorer,
  ) {
    this.#moduleRef = moduleRef;
    this.#modules = modules;
    this.#logger = new TelemetryLogger(app.telemetry, app.options.telemetry);
  }

  async onModuleInit(): Promise<void> {
    this.#refuseSecondRegistration();
    const used = usedPatterns(this.#modules, this.explorer.list(), this.app.options.configured);
    this.#refuseMissingConnections(used);
    this.#logger.start();
    try {
      await this.app.start(used);
      await this.#checkServers(used);
    } catch (error) {
      this.#logger.stop();
      throw error;
    }
  }

  /** Services end what they have begun (locks are released, readers drained) while their connections are still open. */
  async beforeApplicationShutdown(): Promise<void> {
    const services = patternParts.flatMap((part) => part.services);
    await Promise.all(services.map(async ({ token }) => this.#moduleRef.get<Hooked>(token).close?.()));
  }

  async onApplicationShutdown(): Promise<void> {
    await this.app.close();
    this.#logger.stop();
  }

  async #checkServers(used: readonly AnyPatternPart[]): Promise<void> {
    const services = used.flatMap((part) => part.services);
    const { where } = this.app;
    try {
      await Promise.all(services.map(async ({ token }) => this.#moduleRef.get<Hooked>(token).checkServers?.(where)));
    } catch (error) {
      await this.app.close();
      throw error;
    }
  }

  #refuseSecondRegistration(): void {
    const registrations = [...this.#modules.values()].filter((module) => module.providers.has(PatternsApp));
    if (registrations.length < 2) return;
    throw new InvalidOptionsError('RedisPatternsModule', [
      {
        path: '',
        message:
          'it is registered twice in this application; call forRoot() or forRootAsync() once, in the root module, and import nothing elsewhere',
      },
    ]);
  }

  #refuseMissingConnections(used: readonly AnyPatternPart[]): void {
    for (const part of used) {
      const missing = this.app.missingConnection(part);
      if (missing !== undefined) throw missing;
    }
    if (this.app.hasConnection(DEFAULT_CONNECTION)) return;
    const client = getRedisToken();
    const owner = injectionsOf(this.#modules).find(({ token, optional }) => token === client && !optional)?.owner;
    if (owner !== undefined) throw this.app.missingClient(owner);
  }
}
