import { Inject } from '@nestjs/common';
import { DEFAULT_CONNECTION } from './redis-patterns.options.js';

/**
 * Injection token of the raw ioredis client of a connection.
 *
 * @param name default `'default'`
 */
export function getRedisToken(name: string = DEFAULT_CONNECTION): string {
  return `RedisPatterns:client:${name}`;
}

/**
 * Injects the raw ioredis client of a connection.
 *
 * @param name default `'default'`; with `forRootAsync` other names must stand in its `connectionNames`
 * @example
 * ```ts
 * constructor(@InjectRedis() private readonly redis: Redis) {}
 * ```
 */
export function InjectRedis(name?: string): PropertyDecorator & ParameterDecorator {
  return Inject(getRedisToken(name));
}
