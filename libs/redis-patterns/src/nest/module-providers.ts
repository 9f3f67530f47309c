import type { FactoryProvider, InjectionToken, Provider } from '@nestjs/common';
import { ConnectionSource } from './connection-source.js';
import { getRedisToken } from './inject-redis.js';
import { PATTERNS_RUNTIME, PatternsExplorer, patternsRuntimeProviders } from './method-decorator/index.js';
import { OPTIONS, type GivenOptions } from './options-providers.js';
import type { AnyPatternPart, ServiceDefinition } from './pattern-part.js';
import { patternParts } from './pattern-parts.js';
import { PatternsApp } from './patterns-app.js';
import { PatternsLifecycle } from './patterns-lifecycle.js';
import { RedisConnections } from './redis-connections.js';
import { RedisTelemetry } from './redis-telemetry.js';
import { DEFAULT_CONNECTION, resolveModuleOptions } from './redis-patterns.options.js';

/** Everything that the module provides, apart from its options. */
export function moduleProviders(connectionNames: ReadonlySet<string>): {
  providers: Provider[];
  exports: InjectionToken[];
} {
  const services = patternParts.flatMap((part) => part.services.map((service) => serviceProvider(part, service)));
  const clients = [...connectionNames].map(clientProvider);
  const tokens = services.map((service) => service.provide as ServiceDefinition<never>['token']);
  const app: FactoryProvider<PatternsApp> = {
    provide: PatternsApp,
    inject: [OPTIONS, ConnectionSource],
    useFactory: (given: GivenOptions, source: ConnectionSource) =>
      new PatternsApp(resolveModuleOptions(given.reveal(), given.where), given.where, source),
  };
  const connections: FactoryProvider<RedisConnections> = {
    provide: RedisConnections,
    inject: [PatternsApp],
    useFactory: (owner: PatternsApp) => new RedisConnections(owner),
  };
  const telemetry: FactoryProvider<RedisTelemetry> = {
    provide: RedisTelemetry,
    inject: [PatternsApp],
    useFactory: (owner: PatternsApp) => new RedisTelemetry(owner),
  };
  return {
    providers: [
      ConnectionSource,
      app,
      connections,
      telemetry,
      ...clients,
      ...services,
      PatternsLifecycle,
      ...patternsRuntimeProviders(tokens),
      ...patternParts.flatMap((part) => part.providers ?? []),
    ],
    exports: [
      PATTERNS_RUNTIME,
      PatternsExplorer,
      RedisConnections,
      RedisTelemetry,
      ...tokens,
      ...clients.map((client) => client.provide),
    ],
  };
}

function serviceProvider(part: AnyPatternPart, { token, create }: ServiceDefinition<never>): FactoryProvider<object> {
  return {
    provide: token,
    inject: [PatternsApp],
    // A part's own options are what its own `resolve` made of them.
    useFactory: (app: PatternsApp) =>
      create(app.engineContext(part), app.options.patterns.get(part) as never, (name) => app.connection(name)),
  };
}

function clientProvider(name: string): FactoryProvider {
  return {
    provide: getRedisToken(name),
    inject: [PatternsApp],
    // Without a default connection the token exists all the same, so that the message can say who needs it. Others were named.
    useFactory: (app: PatternsApp) =>
      name !== DEFAULT_CONNECTION || app.hasConnection(name) ? app.connection(name).client : undefined,
  };
}
