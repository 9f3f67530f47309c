import 'reflect-metadata';
import { HandlerUse } from '../../nest/http/handler-use.js';
import type { CallSite } from '../../nest/method-decorator/index.js';
import type { HandlerPlan } from './handler/handler-plan.js';

const USE = Symbol.for('nestjs-redis-patterns:idempotent');

/** One `@Idempotent` on one method. */
export class IdempotentUse extends HandlerUse<HandlerPlan> {
  constructor(raw: unknown) {
    super(USE, raw);
  }

  static of(method: object): IdempotentUse | undefined {
    return Reflect.getMetadata(USE, method) as IdempotentUse | undefined;
  }

  /** Whether the method still has the mark; a decorator above may have replaced it. */
  isOn({ target, propertyKey }: CallSite): boolean {
    return IdempotentUse.of((target as Record<string | symbol, object>)[propertyKey]!) === this;
  }
}
