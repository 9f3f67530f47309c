import type { Counter, Histogram, Meter, ObservableCallback, ObservableGauge } from '@opentelemetry/api';
import {
  BUCKETS,
  BYTE_BUCKETS,
  METRICS,
  unitOf,
  type MetricName,
  type MetricOf,
  type MetricRecorder,
  type MetricSink,
} from '../telemetry/metrics/index.js';

type Labels = Readonly<Record<string, string>>;

/** As OpenTelemetry writes them (UCUM). */
const UNITS = { seconds: 's', bytes: 'By' } as const;

/** The name without what OpenTelemetry says by kind and unit; an exporter for Prometheus puts both back. */
function nameOf(name: string): string {
  return `redis_patterns.${name.replace(/_(total|seconds|bytes)$/, '')}`;
}

/** The metrics of one application as instruments of OpenTelemetry. */
export class OtelSink implements MetricSink {
  readonly #counters = new Map<string, Counter>();
  readonly #histograms = new Map<string, Histogram>();
  readonly #gauges: { readonly gauge: ObservableGauge; readonly callback: ObservableCallback }[] = [];

  /** @param recorder is asked for the values of gauges when they are collected */
  register(meter: Meter, recorder: MetricRecorder): void {
    for (const name of Object.keys(METRICS) as MetricName[]) {
      const { kind, help } = METRICS[name];
      const unit = unitOf(name);
      const options = { description: help, ...(unit === undefined ? {} : { unit: UNITS[unit] }) };
      if (kind === 'counter') this.#counters.set(name, meter.createCounter(nameOf(name), options));
      else if (kind === 'histogram') {
        const advice = { explicitBucketBoundaries: [...(unit === 'bytes' ? BYTE_BUCKETS : BUCKETS)] };
        this.#histograms.set(name, meter.createHistogram(nameOf(name), { ...options, advice }));
      } else {
        const gauge = meter.createObservableGauge(nameOf(name), options);
        const callback: ObservableCallback = (result) => {
          for (const { labels, value } of recorder.read(name as MetricOf<'gauge'>))
            result.observe(value, { ...labels });
        };
        gauge.addCallback(callback);
        this.#gauges.push({ gauge, callback });
      }
    }
  }

  count(name: MetricOf<'counter'>, labels: Labels, by = 1): void {
    this.#counters.get(name)!.add(by, { ...labels });
  }

  observe(name: MetricOf<'histogram'>, labels: Labels, value: number): void {
    this.#histograms.get(name)!.record(value, { ...labels });
  }

  close(): void {
    for (const { gauge, callback } of this.#gauges.splice(0)) gauge.removeCallback(callback);
  }
}
