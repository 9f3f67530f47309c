import 'reflect-metadata';
import type { PatternsRuntime } from '../../../nest/method-decorator/index.js';
import type { ResponsePlan } from './response-plan.js';

const USE = Symbol.for('nestjs-redis-patterns:cache-response');

/** One `@CacheResponse` on one method. Its plans are made when the application starts. */
export class ResponseUse {
  /** Weak in both, so that neither a closed application nor a class made on the fly is held. */
  readonly #plans = new WeakMap<PatternsRuntime, WeakMap<object, ResponsePlan>>();

  constructor(
    /** What the decorator was given. */
    readonly raw: unknown,
  ) {}

  static of(method: object): ResponseUse | undefined {
    return Reflect.getMetadata(USE, method) as ResponseUse | undefined;
  }

  markOn(method: object): void {
    Reflect.defineMetadata(USE, this, method);
  }

  keep(runtime: PatternsRuntime, prototype: object, plan: ResponsePlan): void {
    let plans = this.#plans.get(runtime);
    if (plans === undefined) this.#plans.set(runtime, (plans = new WeakMap()));
    plans.set(prototype, plan);
  }

  planFor(runtime: PatternsRuntime, prototype: object): ResponsePlan | undefined {
    return this.#plans.get(runtime)?.get(prototype);
  }
}
