import { Observable } from 'rxjs';
import 'reflect-metadata';
import { NotBoundError } from '../../core/errors.js';
import { isGenerator } from '../../core/handler.js';
import { declaredName, describeSite } from './call-site.js';
import { emitResult, emitStream, PromiseCall, StreamCall, ValueCall } from './calls.js';
import { DecoratedMethodError } from './method-decorator.errors.js';
import { injectedRuntime } from './runtime-slot.js';
import { PatternsRuntime } from './runtime.js';
import type { Around, CallSite, DecoratedCall, MethodPattern } from './types.js';

type Method = (...args: unknown[]) => unknown;
type MakeCall = (site: CallSite, self: object, args: readonly unknown[], original: Method) => DecoratedCall;

/** A decorated method as one application uses it from one concrete class. */
export interface Binding {
  readonly site: CallSite;
  readonly around: Around;
}

/** One decorator on one method. */
export class Decoration<Raw = unknown> {
  /** Weak in both, so that neither a closed application nor a class made on the fly is held. */
  readonly #bindings = new WeakMap<PatternsRuntime, WeakMap<object, Binding>>();
  /** Only for patterns that leave handlers alone: whether the method is one, by the prototype of the object. */
  readonly #handlers = new WeakMap<object, boolean>();
  readonly #returns: 'promise' | 'observable' | 'other';
  readonly #declaredType: unknown;

  constructor(
    readonly pattern: MethodPattern<Raw>,
    readonly raw: Raw,
    readonly target: object,
    readonly key: string | symbol,
    readonly original: Method,
  ) {
    this.#declaredType = Reflect.getOwnMetadata('design:returntype', target, key);
    this.#returns = kindOfReturnType(this.#declaredType);
  }

  /** `Class.method` as it was declared; what a call is reported by before it is known whose it is. */
  get declaredName(): string {
    return declaredName(this.target, this.key);
  }

  /** What the method does when it is called. Nothing is thrown: failures come as the method's own kind. */
  invoke(instance: unknown, args: readonly unknown[]): unknown {
    if (this.pattern.leavesHandlers === true && this.#isHandlerOf(instance)) {
      return Reflect.apply(this.original, instance, args);
    }
    if (this.#returns !== 'observable') return this.#start(instance, args, makePromiseCall);
    if (this.pattern.observable === 'value') return emitResult(() => this.#start(instance, args, makeValueCall));
    return emitStream((emission) =>
      this.#start(instance, args, (site, self) => new StreamCall(site, self, args, this.original, emission)),
    );
  }

  /** The method as it is reached from a concrete class. */
  siteFor(prototype: object): CallSite {
    return describeSite(prototype, this.target, this.key, this.pattern.decorator);
  }

  /**
   * The binding to an application, made when it is first needed.
   *
   * @throws InvalidOptionsError from the pattern
   * @throws DecoratedMethodError when the method is clearly synchronous, or when another method of the application has the same
   * name and the name is a key
   */
  bindingFor(runtime: PatternsRuntime, prototype: object): Binding {
    let byPrototype = this.#bindings.get(runtime);
    if (byPrototype === undefined) this.#bindings.set(runtime, (byPrototype = new WeakMap()));
    let binding = byPrototype.get(prototype);
    if (binding === undefined) byPrototype.set(prototype, (binding = this.#bind(runtime, prototype)));
    return binding;
  }

  #isHandlerOf(instance: unknown): boolean {
    if (typeof instance !== 'object' || instance === null) return false;
    const prototype = Object.getPrototypeOf(instance) as object;
    let known = this.#handlers.get(prototype);
    if (known === undefined) this.#handlers.set(prototype, (known = isHandler(this.siteFor(prototype))));
    return known;
  }

  #start(instance: unknown, args: readonly unknown[], makeCall: MakeCall): Promise<unknown> {
    try {
      const runtime = this.#runtimeOf(instance);
      if (!runtime.isReady) {
        return runtime.whenReady(this.declaredName).then(() => this.#start(instance, args, makeCall));
      }
      const self = instance as object;
      const { site, around } = this.bindingFor(runtime, Object.getPrototypeOf(self) as object);
      return around(makeCall(site, self, args, this.original));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #bind(runtime: PatternsRuntime, prototype: object): Binding {
    const { pattern, raw } = this;
    const site = this.siteFor(prototype);
    if (!(pattern.leavesHandlers === true && isHandler(site))) this.#refuseSynchronous();
    const owner = [prototype.constructor, this];
    if (pattern.nameIsKey?.(raw) === true && !runtime.claimName(`${pattern.decorator} ${site.name}`, owner)) {
      throw new DecoratedMethodError(
        `Two methods with ${pattern.decorator} are called ${site.name} in this application, so that they would answer with ` +
          `each other's values. Give one of them a 'key' of its own, or rename one of the classes.`,
      );
    }
    return { site, around: pattern.bind(raw, runtime, site) };
  }

  #runtimeOf(instance: unknown): PatternsRuntime {
    this.#refuseSynchronous();
    if (typeof instance !== 'object' || instance === null) throw withoutObject(this.#label);
    const runtime = injectedRuntime(instance);
    if (runtime instanceof PatternsRuntime) return runtime;
    throw runtime === undefined ? unbound(this.#label, instance) : replaced(this.#label);
  }

  /** What no call can mend is said when the application starts: a job at night would be the first one else. */
  #refuseSynchronous(): void {
    if (this.#returns === 'other') throw declaredSynchronous(this.#label, this.#declaredType);
    if (isGenerator(this.original)) throw generatorMethod(this.#label);
  }

  get #label(): string {
    return `${this.declaredName} with ${this.pattern.decorator}`;
  }
}

function isHandler({ handlesRequests, overriddenHandler }: CallSite): boolean {
  return handlesRequests || overriddenHandler;
}

function makePromiseCall(...parts: ConstructorParameters<typeof PromiseCall>): DecoratedCall {
  return new PromiseCall(...parts);
}

function makeValueCall(...parts: ConstructorParameters<typeof ValueCall>): DecoratedCall {
  return new ValueCall(...parts);
}

/**
 * Which of the two kinds a method returns must be known before it runs, as an Observable only starts to work when it is
 * subscribed to. An undeclared type (`undefined`, or `Object` for what the compiler cannot express) counts as a promise.
 */
function kindOfReturnType(type: unknown): 'promise' | 'observable' | 'other' {
  if (type === undefined || type === Object || type === Promise) return 'promise';
  const prototype =
    typeof type === 'function' ? ((type as { prototype?: unknown }).prototype as object | undefined) : {};
  if (prototype instanceof Observable || type === Observable) return 'observable';
  const has = (name: string): boolean =>
    typeof (prototype as Record<string, unknown> | undefined)?.[name] === 'function';
  // Another copy of rxjs, and promises of other libraries.
  if (has('subscribe') && has('lift')) return 'observable';
  return has('then') ? 'promise' : 'other';
}

function declaredSynchronous(method: string, type: unknown): DecoratedMethodError {
  return new DecoratedMethodError(
    `${method} is declared to return ${(type as { name?: string }).name ?? 'something else'}, but must return a Promise ` +
      `or an Observable. Make it 'async': what the decorator does takes a round trip to Redis.`,
  );
}

function generatorMethod(method: string): DecoratedMethodError {
  return new DecoratedMethodError(
    `${method} is a generator, whose body runs when the decorator has ended. Collect what it yields in a list, or return an Observable.`,
  );
}

function withoutObject(method: string): NotBoundError {
  return new NotBoundError(
    `${method} was called without its object. Call it as object.method(), or pass on () => object.method().`,
  );
}

function unbound(method: string, instance: object): NotBoundError {
  const className = instance.constructor?.name ?? 'the object';
  return new NotBoundError(
    `${method} was called on a ${className} that is not bound to a RedisPatternsModule, so it was not run. ` +
      `Import RedisPatternsModule in the module that provides ${className} (with isGlobal: false in every such module, and in ` +
      `unit tests as well), and do not call the method in the constructor. An object that Nest does not construct must be ` +
      `the value of a useFactory or useValue provider, or be passed to bind() of the runtime that PATTERNS_RUNTIME injects.`,
  );
}

function replaced(method: string): NotBoundError {
  return new NotBoundError(
    `${method} was not run: what was injected as PATTERNS_RUNTIME is not a PatternsRuntime but perhaps an automatic mock. ` +
      `In a test, provide or override it with new PatternsRuntime(new Map([[CacheService, fake]])).`,
  );
}
