import 'reflect-metadata';
import { HandlerUse } from '../../../nest/http/handler-use.js';
import type { ResponsePlan } from './response-plan.js';

const USE = Symbol.for('nestjs-redis-patterns:cache-response');

/** One `@CacheResponse` on one method. */
export class ResponseUse extends HandlerUse<ResponsePlan> {
  constructor(raw: unknown) {
    super(USE, raw);
  }

  static of(method: object): ResponseUse | undefined {
    return Reflect.getMetadata(USE, method) as ResponseUse | undefined;
  }
}
