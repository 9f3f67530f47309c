import 'reflect-metadata';
import type { PatternsRuntime } from '../method-decorator/index.js';

/** One use of a decorator on one handler, found by its mark. The plans are made when the application starts. */
export class HandlerUse<Plan extends object> {
  /** Weak in both, so that neither a closed application nor a class made on the fly is held. */
  readonly #plans = new WeakMap<PatternsRuntime, WeakMap<object, Plan>>();

  constructor(
    private readonly mark: symbol,
    /** What the decorator was given. */
    readonly raw: unknown,
  ) {}

  markOn(method: object): void {
    Reflect.defineMetadata(this.mark, this, method);
  }

  keep(runtime: PatternsRuntime, prototype: object, plan: Plan): void {
    let plans = this.#plans.get(runtime);
    if (plans === undefined) this.#plans.set(runtime, (plans = new WeakMap()));
    plans.set(prototype, plan);
  }

  planFor(runtime: PatternsRuntime, prototype: object): Plan | undefined {
    return this.#plans.get(runtime)?.get(prototype);
  }
}
