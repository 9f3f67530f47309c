import { AsyncLocalStorage } from 'node:async_hooks';
import { NotBoundError } from '../../core/errors.js';
import { bindRuntime } from './runtime-slot.js';

/** Class of an engine, such as `CacheService`: what {@link PatternsRuntime.engine} is asked for. */
export type EngineToken<T extends object = object> = abstract new (...args: never[]) => T;

/** Longest time in milliseconds that a call waits for an application that is still being put together. */
const READY_TIMEOUT = 10_000;

/**
 * What an application hands to its decorated objects: the way to its engines. One per application, injected by
 * `PATTERNS_RUNTIME`; nothing about it is global, so that two applications in one process never meet.
 *
 * It depends on nothing, and gets its engines later by {@link attach}. Were the engines its dependencies, every decorated
 * provider would depend on the options, and one that `forRootAsync` injects would close a circle (on which Nest 11 waits
 * forever). A call that comes before the engines waits for them.
 *
 * @example Objects made by hand, and engines replaced in a test
 * ```ts
 * const prices = runtime.bind(new PriceList());             // runtime: injected by PATTERNS_RUNTIME
 * builder.overrideProvider(PATTERNS_RUNTIME).useValue(new PatternsRuntime(new Map([[CacheService, fake]])));
 * ```
 */
export class PatternsRuntime {
  readonly #configuring = new AsyncLocalStorage<true>();
  readonly #names = new Map<string, readonly object[]>();
  readonly #waiting = new Set<() => void>();
  readonly #readyTimeout: number;
  #engines: ReadonlyMap<EngineToken, object> | undefined;

  /**
   * @param engines engines by class; without them the runtime is not ready until {@link attach}
   * @param options `readyTimeout`: milliseconds that a call waits for that, 10 000 by default
   */
  constructor(engines?: ReadonlyMap<EngineToken, object>, options: { readonly readyTimeout?: number } = {}) {
    this.#engines = engines;
    this.#readyTimeout = options.readyTimeout ?? READY_TIMEOUT;
  }

  /** Whether the engines are there; from then on calls start at once. */
  get isReady(): boolean {
    return this.#engines !== undefined;
  }

  /** Hands over the engines, once. A runtime that has engines keeps them, so that one made for a test stays as it is. */
  attach(engines: ReadonlyMap<EngineToken, object>): void {
    if (this.#engines !== undefined) return;
    this.#engines = engines;
    // Nobody asks any more, and while one is in use Node.js 20 and 22 call hooks for every promise of the process.
    this.#configuring.disable();
    for (const resume of this.#waiting) resume();
  }

  /**
   * The engine of this application.
   *
   * @throws NotBoundError when the application has none of that class
   */
  engine<T extends object>(token: EngineToken<T>): T {
    const engine = this.#engines?.get(token);
    if (engine !== undefined) return engine as T;
    const known = [...(this.#engines?.keys() ?? [])].map((known) => known.name).join(', ');
    throw new NotBoundError(
      `This application's RedisPatternsModule has no ${token.name} (it has: ${known || 'nothing yet'}). ` +
        `Check that the pattern is enabled, and that only one copy of nestjs-redis-patterns is installed.`,
    );
  }

  /**
   * Binds an object that Nest did not construct to this application, so that its decorated methods work. Objects that
   * Nest constructs, and the values of `useValue` and static `useFactory` providers, are bound without it.
   *
   * @returns the same object
   */
  bind<T extends object>(instance: T): T {
    bindRuntime(instance, this);
    return instance;
  }

  /**
   * Runs what produces this application's own options. A decorated call made in there could only wait for itself, so it
   * fails at once instead.
   */
  whileConfiguring<T>(configure: () => T): T {
    return this.#configuring.run(true, configure);
  }

  /**
   * Resolves when the engines are there.
   *
   * @param method name of the method that waits, for the message
   * @throws NotBoundError after `readyTimeout`, or at once when the options of the module themselves are waiting
   */
  async whenReady(method: string): Promise<void> {
    if (this.isReady) return;
    if (this.#configuring.getStore() === true) throw tooEarly(method, 'it was called to produce those options');
    await new Promise<void>((resolve, reject) => {
      const resume = (): void => {
        clearTimeout(timer);
        resolve();
      };
      // Not unref'ed: with nothing else to do the process would end here without a word.
      const timer = setTimeout(() => {
        this.#waiting.delete(resume);
        reject(tooEarly(method, `it has waited ${this.#readyTimeout} ms for them`));
      }, this.#readyTimeout);
      this.#waiting.add(resume);
    });
  }

  /**
   * Reserves a name for its first owner; `false` when it belongs to another one.
   *
   * @internal
   */
  claimName(name: string, owner: readonly object[]): boolean {
    const claimed = this.#names.get(name) ?? owner;
    this.#names.set(name, claimed);
    return claimed.every((part, index) => part === owner[index]);
  }
}

function tooEarly(method: string, why: string): NotBoundError {
  return new NotBoundError(
    `${method} cannot run before RedisPatternsModule has its options: ${why}. Does forRootAsync inject, directly or ` +
      `through others, what waits for this call? Then call the undecorated code there, or make the call in onModuleInit.`,
  );
}
