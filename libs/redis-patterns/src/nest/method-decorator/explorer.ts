import { Inject, Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { InvalidOptionsError, type OptionIssue } from '../../core/errors.js';
import type { Decoration } from './decoration.js';
import { decorationsOf } from './method-decorator.js';
import { isVisible, type NestModuleRef, type NestWrapper } from './module-visibility.js';
import { injectedRuntime, PATTERNS_RUNTIME } from './runtime-slot.js';
import { PatternsRuntime } from './runtime.js';

/** A decorated method of the application. */
export interface DecoratedMethod {
  /** `Class.method`; `Class.method@Base` for one that the class overrides. */
  readonly name: string;
  readonly className: string;
  readonly methodName: string;
  /** The decorator as it is written: `'@Cacheable'`. */
  readonly decorator: string;
  /** What the decorator was given. */
  readonly options: unknown;
  /** Module that provides the class. */
  readonly module: string;
  /** `false` when that module does not see RedisPatternsModule, so that calls fail with a `NotBoundError`. */
  readonly bound: boolean;
}

/**
 * Looks at every provider and controller once, when the application starts: binds objects that Nest did not construct,
 * validates the options of every decorated method, and knows them all afterwards. Calls do not depend on it, except on
 * those objects.
 */
@Injectable()
export class PatternsExplorer implements OnModuleInit {
  readonly #logger = new Logger('RedisPatternsModule');
  #methods: readonly DecoratedMethod[] = [];

  /** Private to the language: whoever prints this object would else print the whole application. */
  readonly #modules: ModulesContainer;

  constructor(
    @Inject(ModulesContainer) modules: ModulesContainer,
    @Inject(PATTERNS_RUNTIME) private readonly runtime: PatternsRuntime,
  ) {
    this.#modules = modules;
  }

  /** The application's decorated methods, once it has started; overridden ones too. */
  list(): readonly DecoratedMethod[] {
    return this.#methods;
  }

  /** @throws InvalidOptionsError with what is wrong with any decorated method */
  onModuleInit(): void {
    const methods: DecoratedMethod[] = [];
    const failures: InvalidOptionsError[] = [];
    for (const module of this.#modules.values()) {
      const bound = this.runtime instanceof PatternsRuntime && isVisible(PATTERNS_RUNTIME, module);
      for (const [prototype, objects] of decoratedClasses(module)) {
        if (bound) objects.forEach((object) => this.#bindObject(object));
        for (const decoration of decorationsOf(prototype)) {
          methods.push(this.#describe(decoration, prototype, module, bound, failures));
        }
      }
    }
    this.#methods = Object.freeze(methods);
    throwAll(failures);
    this.#warnOfUnbound();
  }

  #describe(
    decoration: Decoration,
    prototype: object,
    module: NestModuleRef,
    bound: boolean,
    failures: InvalidOptionsError[],
  ): DecoratedMethod {
    if (bound) {
      try {
        decoration.bindingFor(this.runtime, prototype);
      } catch (error) {
        if (!(error instanceof InvalidOptionsError)) throw error;
        failures.push(error);
      }
    }
    const { className, methodName, name, decorator } = decoration.siteFor(prototype);
    return { name, className, methodName, decorator, options: decoration.raw, module: module.name, bound };
  }

  /** An object that two applications share can only work for one of them; the later one has most likely replaced the other. */
  #bindObject(object: object): void {
    const current = injectedRuntime(object);
    if (current === this.runtime) return;
    if (current instanceof PatternsRuntime) {
      this.#logger.warn(
        `A ${object.constructor.name} is provided to two applications of this process, and now belongs to the one that ` +
          `started last. Make one for each application, with useFactory.`,
      );
    }
    this.runtime.bind(object);
  }

  #warnOfUnbound(): void {
    const unbound = this.#methods.filter((method) => !method.bound);
    if (unbound.length === 0) return;
    const names = [...new Set(unbound.map(({ name, module }) => `${name} (${module})`))].join(', ');
    this.#logger.warn(
      `RedisPatternsModule is not imported where these methods are provided, so that calls of them will fail: ${names}`,
    );
  }
}

/** Prototypes with decorated methods, and those of their instances that exist now and are here to stay. */
function decoratedClasses(module: NestModuleRef): Map<object, Set<object>> {
  const classes = new Map<object, Set<object>>();
  for (const collection of [module.providers, module.controllers, module.injectables, module.middlewares]) {
    for (const wrapper of collection.values() as Iterable<NestWrapper>) {
      if (wrapper.isAlias) continue;
      const objects = existingObjects(wrapper).filter(hasDecorations);
      const prototype = wrapper.inject ? undefined : prototypeOf(wrapper.metatype);
      if (prototype !== undefined && hasDecorations(prototype)) register(classes, prototype);
      for (const object of objects) register(classes, Object.getPrototypeOf(object) as object).add(object);
    }
  }
  return classes;
}

function register(classes: Map<object, Set<object>>, prototype: object): Set<object> {
  const objects = classes.get(prototype) ?? new Set();
  classes.set(prototype, objects);
  return objects;
}

function existingObjects(wrapper: NestWrapper): object[] {
  const transient: unknown[] = wrapper.isTransient
    ? wrapper.getStaticTransientInstances().map((host) => host?.instance as unknown)
    : [];
  const own: unknown[] = !wrapper.isTransient && wrapper.isDependencyTreeStatic() ? [wrapper.instance] : [];
  return [...transient, ...own].filter((object) => typeof object === 'object' && object !== null);
}

function hasDecorations(object: object): boolean {
  return decorationsOf(object).length > 0;
}

function prototypeOf(metatype: unknown): object | undefined {
  return typeof metatype === 'function' ? (metatype as { prototype?: object }).prototype : undefined;
}

function throwAll(all: readonly InvalidOptionsError[]): void {
  // Two decorators of one method may find the same.
  const failures = [...new Map(all.map((failure) => [failure.message, failure])).values()];
  if (failures.length < 2) {
    if (failures[0] !== undefined) throw failures[0];
    return;
  }
  const issues = failures.flatMap(({ where, issues: found }) =>
    found.map(({ path, message }): OptionIssue => ({ path: path === '' ? where : `${where}: ${path}`, message })),
  );
  throw new InvalidOptionsError('decorated methods', issues);
}
