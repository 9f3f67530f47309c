import { Controller, Get, Header } from '@nestjs/common';
import { HealthCheck, HealthCheckService, type HealthCheckResult } from '@nestjs/terminus';
import { RedisPatternsHealthIndicator } from 'nestjs-redis-patterns/health';
import { register } from 'prom-client';

/** What those who run the shop ask: a load balancer, an orchestrator, Prometheus. */
@Controller()
export class OperationsController {
  constructor(
    private readonly health: HealthCheckService,
    private readonly redis: RedisPatternsHealthIndicator,
  ) {}

  /** Whether requests should come here. */
  @Get('health')
  @HealthCheck()
  ready(): Promise<HealthCheckResult> {
    return this.health.check([() => this.redis.check('redis')]);
  }

  /** Whether this process should be restarted. Does not ask Redis. */
  @Get('health/live')
  @HealthCheck()
  live(): Promise<HealthCheckResult> {
    return this.health.check([() => this.redis.live('redis')]);
  }

  @Get('metrics')
  @Header('content-type', register.contentType)
  metrics(): Promise<string> {
    return register.metrics();
  }
}
