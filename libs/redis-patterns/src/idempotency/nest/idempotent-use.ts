import 'reflect-metadata';
import type { CallSite, PatternsRuntime } from '../../nest/method-decorator/index.js';
import type { HandlerPlan } from './handler/handler-plan.js';

const USE = Symbol.for('nestjs-redis-patterns:idempotent');

/** One `@Idempotent` on one method. The plans of handlers are made when the application starts. */
export class IdempotentUse {
  /** Weak in both, so that neither a closed application nor a class made on the fly is held. */
  readonly #plans = new WeakMap<PatternsRuntime, WeakMap<object, HandlerPlan>>();

  constructor(
    /** What the decorator was given. */
    readonly raw: unknown,
  ) {}

  static of(method: object): IdempotentUse | undefined {
    return Reflect.getMetadata(USE, method) as IdempotentUse | undefined;
  }

  markOn(method: object): void {
    Reflect.defineMetadata(USE, this, method);
  }

  /** Whether the method still has the mark; a decorator above may have replaced it. */
  isOn({ target, propertyKey }: CallSite): boolean {
    return IdempotentUse.of((target as Record<string | symbol, object>)[propertyKey]!) === this;
  }

  keep(runtime: PatternsRuntime, prototype: object, plan: HandlerPlan): void {
    let plans = this.#plans.get(runtime);
    if (plans === undefined) this.#plans.set(runtime, (plans = new WeakMap()));
    plans.set(prototype, plan);
  }

  planFor(runtime: PatternsRuntime, prototype: object): HandlerPlan | undefined {
    return this.#plans.get(runtime)?.get(prototype);
  }
}
