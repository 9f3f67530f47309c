import { Module, type DynamicModule, type Provider } from '@nestjs/common';
import { moduleProviders } from './module-providers.js';
import { GivenOptions, OPTIONS, optionsProviders } from './options-providers.js';
import {
  DEFAULT_CONNECTION,
  type RedisPatternsAsyncOptions,
  type RedisPatternsOptions,
} from './redis-patterns.options.js';
import { RegistrationCheck } from './registration-check.js';

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
@Module({ providers: [RegistrationCheck] })
export class RedisPatternsModule {
  /**
   * Registers the patterns with options that are known now. Options that cannot work fail the boot with an
   * `InvalidOptionsError` that names each of them.
   *
   * @param given `isGlobal` (default true): visible everywhere without an import
   */
  static forRoot(given: RedisPatternsOptions & { isGlobal?: boolean }): DynamicModule {
    const { isGlobal = true, ...options } = orNone(given);
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
  static forRootAsync(given: RedisPatternsAsyncOptions): DynamicModule {
    const { isGlobal = true, imports = [], connectionNames = [], ...source } = orNone(given);
    const names = [DEFAULT_CONNECTION, ...connectionNames];
    return { ...assemble(optionsProviders(source), names, isGlobal), imports };
  }
}

/** Whoever gives no options is told what they need where all options are looked at. */
function orNone<Options>(given: Options): Options {
  return typeof given === 'object' && given !== null ? given : ({} as Options);
}

function assemble(options: Provider[], connectionNames: readonly string[], global: boolean): DynamicModule {
  const { providers, exports } = moduleProviders(new Set(connectionNames));
  return { module: RedisPatternsModule, global, providers: [...options, ...providers], exports };
}
