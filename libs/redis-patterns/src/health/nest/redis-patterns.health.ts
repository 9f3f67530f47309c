import { Inject, Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { HealthIndicatorService, type HealthIndicatorResult } from '@nestjs/terminus';
import { appOf } from '../../nest/app-of.js';
import { HealthExaminer } from '../health-examiner.js';
import { resolveHealthOptions, type HealthCheckOptions } from '../health.options.js';

/** Turns that a reader may miss. */
const QUIET = 3;

/**
 * Health of the connections of `RedisPatternsModule`, for Terminus. Provide it where `TerminusModule` is imported.
 *
 * @example
 * ```ts
 * import { RedisPatternsHealthIndicator } from 'nestjs-redis-patterns/health';
 *
 * @Get('ready') @HealthCheck()
 * ready() { return this.health.check([() => this.redis.check('redis', { critical: ['durable'] })]); }
 *
 * @Get('live') @HealthCheck()
 * live() { return this.health.check([() => this.redis.live('redis')]); }
 * ```
 */
@Injectable()
export class RedisPatternsHealthIndicator implements OnModuleInit, OnApplicationShutdown {
  #examiner: HealthExaminer | undefined;

  constructor(
    @Inject(HealthIndicatorService) private readonly indicators: HealthIndicatorService,
    @Inject(ModuleRef) private readonly moduleRef: ModuleRef,
  ) {}

  /** @throws InvalidOptionsError without `RedisPatternsModule` */
  onModuleInit(): void {
    this.#examiner = new HealthExaminer(appOf(this.moduleRef, 'RedisPatternsHealthIndicator'));
  }

  onApplicationShutdown(): void {
    this.#examiner?.close();
  }

  /**
   * For readiness: `down` (503) only when a critical connection is silent; `degraded` (200) when anything else is wrong, such as a cache
   * that is away, a subscriber that has lost its socket, or a stream reader that hears nothing. Answers within `timeout`, whatever
   * Redis does; sends one PING and one INFO to each master, at most once in `cacheFor`.
   *
   * @throws InvalidOptionsError for a wrong option, or a connection that there is not
   */
  async check<const Name extends string>(
    key: Name,
    options: HealthCheckOptions = {},
  ): Promise<HealthIndicatorResult<Name>> {
    const where = 'RedisPatternsHealthIndicator.check()';
    const { status, connections } = await this.#examinerOf(where).examine(resolveHealthOptions(options, where), where);
    const session = this.indicators.check(key);
    if (status === 'up') return session.up({ connections });
    return status === 'degraded' ? session.degraded({ connections }) : session.down({ connections });
  }

  /**
   * For liveness: `down` when a stream reader of this process should turn and does not. Never asks Redis, so that a Redis that is away
   * restarts nobody.
   */
  live<const Name extends string>(key: Name, options: { quiet?: number } = {}): HealthIndicatorResult<Name> {
    const stuck = this.#examinerOf('RedisPatternsHealthIndicator.live()').stuckLoops(options.quiet ?? QUIET);
    const session = this.indicators.check(key);
    return stuck.length === 0 ? session.up() : session.down({ stuck });
  }

  #examinerOf(where: string): HealthExaminer {
    this.#examiner ??= new HealthExaminer(appOf(this.moduleRef, where));
    return this.#examiner;
  }
}
