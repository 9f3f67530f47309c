import type { Observable } from 'rxjs';
import type { PatternsRuntime } from './runtime.js';

/** Where a decorated method is, seen from one concrete class. */
export interface CallSite {
  /** Concrete class of the instance, also for a method that it inherits. */
  readonly className: string;
  /** The method; one that a symbol names is written like a function's own name, `[description]`. */
  readonly methodName: string;
  /**
   * `Class.method`. A method that the class overrides, and that can only be reached by `super.method()`, is another method
   * and has the name `Class.method@Base`: an override and its base must never share a key or a flight.
   */
  readonly name: string;
  /** Prototype of the concrete class. */
  readonly target: object;
  readonly propertyKey: string | symbol;
  /** The decorator as it is written: `'@Cacheable'`. */
  readonly decorator: string;
  /**
   * Whether Nest calls this method as a request handler, so that the guards and interceptors that the decorator has put on
   * it apply. `false` for a method reached by `super`, whose enhancers Nest does not see.
   */
  readonly handlesRequests: boolean;
  /** Whether it is a request handler of a base class that this class overrides: no request reaches it but by `super`. */
  readonly overriddenHandler: boolean;
}

/** One call of a decorated method. */
export interface DecoratedCall {
  readonly site: CallSite;
  /** The object whose method was called. */
  readonly instance: object;
  readonly args: readonly unknown[];
  /**
   * Only for an Observable of kind `'stream'`: aborted when the subscriber leaves before the end. What `around()` waits for
   * (a lock, a permit) should stop then.
   */
  readonly signal?: AbortSignal;
  /**
   * Runs the method. For a promise it settles as that does. For an Observable of kind `'value'` it resolves with its single
   * value (`undefined` when there was none), of kind `'stream'` with its last value, when it has ended or the subscriber has
   * left. Errors, synchronous ones too, are rejections. May be called again, to try again.
   */
  proceed(): Promise<unknown>;
}

/** What a pattern does around each call; the result is what the caller gets. */
export type Around = (call: DecoratedCall) => Promise<unknown>;

/** The part of a method decorator that differs from pattern to pattern. */
export interface MethodPattern<Raw> {
  /** The decorator as it is written: `'@Cacheable'`. */
  readonly decorator: string;
  /**
   * What happens to a method that returns an Observable. `'value'`: it is run to its end for its single value, the result of
   * `around()` is emitted, and a subscriber that leaves does not stop work that others may share. `'stream'`: emissions pass
   * through while `around()` is held open, and a subscriber that leaves ends it.
   */
  readonly observable: 'value' | 'stream';
  /**
   * Whether request handlers run as they are, synchronous ones too, as a guard or interceptor of the pattern does the work
   * there; overridden ones, too. Their options are still validated by `bind()` at boot. Default false.
   */
  readonly leavesHandlers?: boolean;
  /**
   * Whether, with these options, `site.name` is part of what is stored in Redis, as in a default cache key. Then two methods
   * of one application that have the same name are refused, as they would answer with each other's values.
   */
  nameIsKey?(raw: Raw): boolean;
  /** Whether a second one on a method is refused, when its class is defined. Default false. */
  readonly onlyOnce?: boolean;
  /**
   * Called once for each runtime, concrete class and method: at boot, or else by the first call.
   *
   * @throws InvalidOptionsError for `raw`, naming `site.name`
   */
  bind(raw: Raw, runtime: PatternsRuntime, site: CallSite): Around;
}

/** A method that can be decorated. */
export type AsyncMethod = (...args: never[]) => Promise<unknown> | Observable<unknown>;

/** What a method's promise resolves with, or its Observable emits. */
export type MethodResult<M extends AsyncMethod> =
  ReturnType<M> extends Promise<infer Value> ? Value : ReturnType<M> extends Observable<infer Value> ? Value : never;

/** Prototype of a class, as opposed to the class itself: what a decorator of an instance method is given. */
export type InstanceTarget = object & { readonly prototype?: never };

/**
 * `unknown` when `Fn` can be called with the parameters of `M` and gives a `Result`, otherwise a type that no method
 * descriptor has. `Fn` may be a union of functions: all of them must fit.
 */
export type FitsMethod<M extends AsyncMethod, Fn, Result = unknown> = [GivenFunction<Fn>] extends [
  (...args: Parameters<M>) => Result,
]
  ? unknown
  : { readonly 'a function in the options does not fit the parameters or the result of this method': Fn };

/** Leaves out `(...args: never[]) => …`, which is what a type parameter is inferred as when there is no function. */
type GivenFunction<Fn> = Fn extends (...args: infer Args) => unknown
  ? number extends Args['length']
    ? [Args[number]] extends [never]
      ? never
      : Fn
    : Fn
  : never;

/**
 * A decorator of asynchronous instance methods: on a synchronous or static method, a property or an accessor it does not
 * compile.
 *
 * @typeParam Fn union of the functions in its options that are called with the arguments of the method
 * @typeParam Result what the method must give
 *
 * @example
 * ```ts
 * export function Traced<Label extends (...args: never[]) => string>(
 *   options: { label?: Label },
 * ): AsyncMethodDecorator<Label> {
 *   return decorateMethod(tracedPattern, options);
 * }
 * ```
 */
export type AsyncMethodDecorator<Fn = () => unknown, Result = unknown> = <M extends AsyncMethod>(
  target: InstanceTarget,
  propertyKey: string | symbol,
  descriptor: TypedPropertyDescriptor<M> &
    FitsMethod<M, Fn> &
    ([MethodResult<M>] extends [Result] ? unknown : { readonly 'the result of this method must be': Result }),
) => void;
