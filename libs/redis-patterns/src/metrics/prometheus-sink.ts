import { Counter, Gauge, Histogram, register, type Registry } from 'prom-client';
import { InvalidOptionsError } from '../core/errors.js';
import {
  BYTE_BUCKETS,
  METRICS,
  unitOf,
  type MetricName,
  type MetricOf,
  type MetricRecorder,
  type MetricSink,
} from '../telemetry/metrics/index.js';
import type { ResolvedMetricsOptions } from './metrics.options.js';

type Labels = Readonly<Record<string, string>>;

/** The metrics of one application in a registry of prom-client. */
export class PrometheusSink implements MetricSink {
  readonly #registry: Registry;
  readonly #prefix: string;
  readonly #counters = new Map<string, Counter>();
  readonly #histograms = new Map<string, Histogram>();

  /** @throws InvalidOptionsError when the registry has metrics of these names already */
  constructor(options: ResolvedMetricsOptions) {
    this.#registry = options.registry ?? register;
    this.#prefix = options.prefix;
    this.#refuseSecond();
  }

  /** @param recorder is asked for the values of gauges when they are scraped */
  register({ buckets }: Pick<ResolvedMetricsOptions, 'buckets'>, recorder: MetricRecorder): void {
    for (const name of Object.keys(METRICS) as MetricName[]) {
      const { kind, help, labels } = METRICS[name];
      const common = { name: this.#prefix + name, help, labelNames: [...labels], registers: [this.#registry] };
      if (kind === 'counter') this.#counters.set(name, new Counter(common));
      else if (kind === 'histogram') {
        const bounds = unitOf(name) === 'bytes' ? BYTE_BUCKETS : buckets;
        this.#histograms.set(name, new Histogram({ ...common, buckets: [...bounds] }));
      } else {
        new Gauge({
          ...common,
          collect() {
            // What is gone must not stay with its last value.
            this.reset();
            for (const { labels: own, value } of recorder.read(name as MetricOf<'gauge'>)) this.set(own, value);
          },
        });
      }
    }
  }

  count(name: MetricOf<'counter'>, labels: Labels, by = 1): void {
    this.#counters.get(name)!.inc(labels, by);
  }

  observe(name: MetricOf<'histogram'>, labels: Labels, value: number): void {
    this.#histograms.get(name)!.observe(labels, value);
  }

  /** Takes the metrics out of the registry, so that the next application can put its own in. */
  close(): void {
    for (const name of Object.keys(METRICS)) this.#registry.removeSingleMetric(this.#prefix + name);
  }

  #refuseSecond(): void {
    const taken = Object.keys(METRICS).find(
      (name) => this.#registry.getSingleMetric(this.#prefix + name) !== undefined,
    );
    if (taken === undefined) return;
    const message = `has '${this.#prefix}${taken}' already; give each application of this process a 'registry' of its own, or another 'prefix'`;
    throw new InvalidOptionsError('RedisPatternsMetricsModule.forRoot()', [{ path: 'registry', message }]);
  }
}
