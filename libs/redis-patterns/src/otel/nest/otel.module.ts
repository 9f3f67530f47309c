import {
  Inject,
  Injectable,
  Module,
  type DynamicModule,
  type OnApplicationShutdown,
  type OnModuleInit,
} from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { metrics, trace, type Meter } from '@opentelemetry/api';
import { appOf } from '../../nest/app-of.js';
import { SinkFailure } from '../../nest/sink-failure.js';
import { MetricRecorder } from '../../telemetry/metrics/index.js';
import type { Telemetry } from '../../telemetry/index.js';
import { CommandSpans } from '../command-spans.js';
import { resolveOtelOptions, type OtelOptions, type ResolvedOtelOptions } from '../otel.options.js';
import { MessagingMetrics } from '../messaging-metrics.js';
import { OtelSink } from '../otel-sink.js';
import { Spans } from '../spans.js';
import { activeCarrier } from '../trace-context.js';

const OPTIONS = Symbol('nestjs-redis-patterns:otel-options');
/** Scope of tracer and meter. */
const SCOPE = 'nestjs-redis-patterns';
/** Of the conventions for databases, seconds. */
const COMMAND_BOUNDS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10];

@Injectable()
class OtelLifecycle implements OnModuleInit, OnApplicationShutdown {
  readonly #ends: (() => void)[] = [];
  readonly #failure = new SinkFailure('OpenTelemetry');

  constructor(
    @Inject(ModuleRef) private readonly moduleRef: ModuleRef,
    @Inject(OPTIONS) private readonly options: ResolvedOtelOptions,
  ) {}

  onModuleInit(): void {
    const { telemetry } = appOf(this.moduleRef, 'RedisPatternsOtelModule');
    const { tracer = trace.getTracer(SCOPE), meter = metrics.getMeter(SCOPE), commandSpans } = this.options;
    const { report } = this.#failure;
    const spans = new Spans(tracer, this.options, report);
    telemetry.around = spans.around;
    telemetry.carrier = activeCarrier;
    this.#ends.push(() => (telemetry.around = telemetry.carrier = undefined));
    if (meter !== false) this.#measure(telemetry, meter);
    if (!commandSpans) return;
    const duration =
      meter === false
        ? undefined
        : meter.createHistogram('db.client.operation.duration', {
            unit: 's',
            description: 'Duration of commands',
            advice: { explicitBucketBoundaries: COMMAND_BOUNDS },
          });
    const commands = new CommandSpans(tracer, duration, spans, report);
    commands.start();
    this.#ends.push(() => commands.close());
  }

  onApplicationShutdown(): void {
    for (const end of this.#ends.splice(0)) end();
  }

  #measure(telemetry: Telemetry, meter: Meter): void {
    const sink = new OtelSink();
    const recorder = new MetricRecorder(telemetry, sink, this.#failure.report);
    sink.register(meter, recorder);
    recorder.start();
    const messaging = new MessagingMetrics(meter, telemetry.app, this.#failure.report);
    messaging.start();
    this.#ends.push(
      () => messaging.close(),
      () => recorder.close(),
      () => sink.close(),
    );
  }
}

/**
 * Spans and metrics of `RedisPatternsModule` for OpenTelemetry. A span of ours is active while it runs: what a cache factory, a function
 * under a lock or a message handler does makes children of it. Trace context travels with the messages of streams.
 *
 * @example
 * ```ts
 * import { RedisPatternsOtelModule } from 'nestjs-redis-patterns/otel';
 *
 * @Module({ imports: [RedisPatternsModule.forRoot({ … }), RedisPatternsOtelModule.forRoot()] })
 * export class AppModule {}
 * ```
 */
@Module({})
export class RedisPatternsOtelModule {
  /** @throws InvalidOptionsError for a wrong option */
  static forRoot(options: OtelOptions = {}): DynamicModule {
    return {
      module: RedisPatternsOtelModule,
      providers: [{ provide: OPTIONS, useValue: resolveOtelOptions(options) }, OtelLifecycle],
    };
  }
}
