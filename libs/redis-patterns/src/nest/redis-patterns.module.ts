import { Module, type DynamicModule, type Provider } from '@nestjs/common';
import { moduleProviders } from './module-providers.js';
import { GivenOptions, OPTIONS, optionsProviders } from './options-providers.js';
import {
  DEFAULT_CONNECTION,
  type RedisPatternsAsyncOptions,
  type RedisPatternsOptions,
} from './redis-patterns.options.js';

/**
 * The Redis patterns for one application: registers the services, makes the decorators work, opens the connections when
 * the application starts and closes them last. Register it once, in the root module.
 *
 * @example
 * ```ts
 * @Module({
 *   imports: [RedisPatternsModule.forRoot({ namespace: 'shop', connection: 'redis://127.0.0.1:6379' })],
 * })
 * export class AppModule {}
 * ```
 */
@Module({})
export class RedisPatternsModule {
  /**
   * Registers the patterns with options that are known now. Options that cannot work fail the boot with an
   * `InvalidOptionsError` that names each of them.
   *
   * @param options `isGlobal` (default true): visible everywhere without an import
   */
  static forRoot({ isGlobal = true, ...options }: RedisPatternsOptions & { isGlobal?: boolean }): DynamicModule {
    const names = [DEFAULT_CONNECTION, ...Object.keys(options.connections ?? {})];
    const source: Provider = { provide: OPTIONS, useValue: new GivenOptions(options, 'RedisPatternsModule.forRoot()') };
    return assemble([source], names, isGlobal);
  }

  /**
   * Registers the patterns with options that are known only when the application starts.
   *
   * @example
   * ```ts
   * RedisPatternsModule.forRootAsync({
   *   inject: [ConfigService],
   *   useFactory: (config: ConfigService) => ({ namespace: 'shop', connection: config.getOrThrow<string>('REDIS_URL') }),
   * })
   * ```
   */
  static forRootAsync({
    isGlobal = true,
    imports = [],
    connectionNames = [],
    ...source
  }: RedisPatternsAsyncOptions): DynamicModule {
    const names = [DEFAULT_CONNECTION, ...connectionNames];
    return { ...assemble(optionsProviders(source), names, isGlobal), imports };
  }
}

function assemble(options: Provider[], connectionNames: readonly string[], global: boolean): DynamicModule {
  const { providers, exports } = moduleProviders(new Set(connectionNames));
  return { module: RedisPatternsModule, global, providers: [...options, ...providers], exports };
}
