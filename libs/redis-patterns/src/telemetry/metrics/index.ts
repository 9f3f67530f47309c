export { BoundedLabels } from './bounded-labels.js';
export { MetricRecorder, type MetricSink } from './recorder.js';
export { BUCKETS, BYTE_BUCKETS, METRICS, unitOf, type Metric, type MetricName, type MetricOf } from './table.js';
