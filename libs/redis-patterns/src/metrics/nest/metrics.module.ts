import {
  Inject,
  Injectable,
  Module,
  type DynamicModule,
  type OnApplicationShutdown,
  type OnModuleInit,
} from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { appOf } from '../../nest/app-of.js';
import { SinkFailure } from '../../nest/sink-failure.js';
import { MetricRecorder } from '../../telemetry/metrics/index.js';
import { resolveMetricsOptions, type MetricsOptions, type ResolvedMetricsOptions } from '../metrics.options.js';
import { PrometheusSink } from '../prometheus-sink.js';

const OPTIONS = Symbol('nestjs-redis-patterns:metrics-options');

@Injectable()
class MetricsLifecycle implements OnModuleInit, OnApplicationShutdown {
  readonly #sink: PrometheusSink;
  #recorder: MetricRecorder | undefined;

  constructor(
    @Inject(ModuleRef) private readonly moduleRef: ModuleRef,
    @Inject(OPTIONS) private readonly options: ResolvedMetricsOptions,
  ) {
    // Here, and not when the module begins: a registry that is taken fails the boot before any connection is open.
    this.#sink = new PrometheusSink(options);
  }

  onModuleInit(): void {
    const { telemetry } = appOf(this.moduleRef, 'RedisPatternsMetricsModule');
    this.#recorder = new MetricRecorder(telemetry, this.#sink, new SinkFailure('metrics').report);
    this.#sink.register(this.options, this.#recorder);
    this.#recorder.start();
  }

  onApplicationShutdown(): void {
    this.#recorder?.close();
    this.#sink.close();
  }
}

/**
 * Puts the metrics of `RedisPatternsModule` into a registry of prom-client, from where whatever serves `/metrics` reads them.
 * Reading sends no command to Redis. At the end of the application they are taken out again.
 *
 * @example
 * ```ts
 * import { RedisPatternsMetricsModule } from 'nestjs-redis-patterns/metrics';
 *
 * @Module({ imports: [RedisPatternsModule.forRoot({ … }), RedisPatternsMetricsModule.forRoot()] })
 * export class AppModule {}
 * ```
 */
@Module({})
export class RedisPatternsMetricsModule {
  /** @throws InvalidOptionsError for a wrong option; the boot does, when the registry has these metrics already */
  static forRoot(options: MetricsOptions = {}): DynamicModule {
    return {
      module: RedisPatternsMetricsModule,
      providers: [{ provide: OPTIONS, useValue: resolveMetricsOptions(options) }, MetricsLifecycle],
    };
  }
}
