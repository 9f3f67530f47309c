import type { Provider } from '@nestjs/common';
import { InvalidOptionsError } from '../core/errors.js';
import { PATTERNS_RUNTIME, PatternsRuntime } from './method-decorator/index.js';
import type {
  RedisPatternsAsyncOptions,
  RedisPatternsOptions,
  RedisPatternsOptionsFactory,
} from './redis-patterns.options.js';

/** Token of what the application gave as options, and of the words that begin a message about them. */
export const OPTIONS = Symbol.for('nestjs-redis-patterns:options');

/** Passwords are in them, and Nest's container, which many things lead to, shows what it provides. */
export class GivenOptions {
  readonly #raw: RedisPatternsOptions;

  constructor(
    raw: RedisPatternsOptions,
    readonly where: string,
  ) {
    this.#raw = raw;
  }

  reveal(): RedisPatternsOptions {
    return this.#raw;
  }
}

const WHERE = 'RedisPatternsModule.forRootAsync()';

/**
 * Providers of {@link OPTIONS} for `forRootAsync`.
 *
 * @throws InvalidOptionsError unless exactly one of `useFactory`, `useClass`, `useExisting` is given
 */
export function optionsProviders(
  source: Omit<RedisPatternsAsyncOptions, 'imports' | 'isGlobal' | 'connectionNames'>,
): Provider[] {
  const { inject = [], useFactory, useClass, useExisting } = source;
  const given = [useFactory, useClass, useExisting].filter((way) => way !== undefined);
  if (given.length !== 1) {
    throw new InvalidOptionsError(WHERE, [
      { path: '', message: "give exactly one of 'useFactory', 'useClass', 'useExisting'" },
    ]);
  }
  if (useFactory !== undefined) return [fromFactory(useFactory, inject)];
  const factoryToken = useExisting ?? useClass!;
  const ask = (factory: RedisPatternsOptionsFactory) => factory.createRedisPatternsOptions();
  return [...(useClass === undefined ? [] : [useClass]), fromFactory(ask, [factoryToken])];
}

function fromFactory(
  make: NonNullable<RedisPatternsAsyncOptions['useFactory']>,
  inject: NonNullable<RedisPatternsAsyncOptions['inject']>,
): Provider {
  return {
    provide: OPTIONS,
    inject: [PATTERNS_RUNTIME, ...inject],
    useFactory: async (runtime: PatternsRuntime, ...args: unknown[]): Promise<GivenOptions> => {
      // A test may have put anything in the runtime's place.
      const configure = () => make(...args);
      const raw = await (runtime instanceof PatternsRuntime ? runtime.whileConfiguring(configure) : configure());
      return new GivenOptions(raw, WHERE);
    },
  };
}
