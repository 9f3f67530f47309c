import { Module } from '@nestjs/common';
import { TerminusModule } from '@nestjs/terminus';
import { RedisPatternsHealthIndicator } from 'nestjs-redis-patterns/health';
import { RedisPatternsMetricsModule } from 'nestjs-redis-patterns/metrics';
import { OperationsController } from './operations.controller.js';

@Module({
  imports: [TerminusModule, RedisPatternsMetricsModule.forRoot()],
  controllers: [OperationsController],
  providers: [RedisPatternsHealthIndicator],
})
export class OperationsModule {}
