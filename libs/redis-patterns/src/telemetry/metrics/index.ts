export { MetricRecorder, type MetricSink } from './recorder.js';
export { BUCKETS, METRICS, type Metric, type MetricName, type MetricOf } from './table.js';
