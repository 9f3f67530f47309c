/** One metric. Times are seconds, sizes bytes: the name ends with it. */
export interface Metric {
  readonly kind: 'counter' | 'histogram' | 'gauge';
  readonly help: string;
  readonly labels: readonly string[];
}

const counter = (help: string, ...labels: string[]) => ({ kind: 'counter', help, labels }) as const;
const histogram = (help: string, ...labels: string[]) => ({ kind: 'histogram', help, labels }) as const;
const gauge = (help: string, ...labels: string[]) => ({ kind: 'gauge', help, labels }) as const;

/** `name`: `Class.method`. `outcome`: done, nothing, error. */
const operations = (help: string) => counter(help, 'connection', 'name', 'outcome');

/** Every metric of the library: Prometheus and OpenTelemetry have the same ones. No label ever holds a key or a value. */
export const METRICS = {
  cache_requests_total: counter(
    'Keys that were asked for',
    'connection',
    'name',
    'tier', // l1, redis, load
    'outcome', // hit, stale, miss, bypass, error
  ),
  cache_load_seconds: histogram('How long factories ran', 'connection', 'name', 'outcome' /* ok, error */),
  cache_invalidations_total: counter(
    'Calls that changed or removed entries',
    'connection',
    'operation', // set, evict, expire, invalidate, clear, delete-pattern
    'outcome', // done, nothing, error
  ),
  cache_value_bytes: histogram('Size of values that were made ready to be stored, as text', 'connection', 'name'),
  cache_loads_running: gauge('Factories that run now', 'connection'),
  cache_waiters: gauge('Callers that wait for a load of this process', 'connection'),
  cache_invalidations_queued: gauge('Evictions that Redis has to be told of when it answers again', 'connection'),

  ratelimit_decisions_total: counter(
    'What each policy said',
    'connection',
    'policy',
    'source', // redis, cache, local, open, list, closed
    'outcome', // allowed, denied, shadow, closed
  ),
  ratelimit_seconds: histogram('How long decisions took', 'connection', 'source'),

  lock_acquire_total: counter(
    'Locks, sides and permits that were asked for',
    'connection',
    'kind', // lock, semaphore
    'name',
    'outcome', // acquired, busy, unavailable, error
  ),
  lock_wait_seconds: histogram('How long callers waited for them', 'connection', 'kind', 'name', 'outcome'),
  lock_held_seconds: histogram('How long functions ran under them', 'connection', 'kind', 'name'),
  lock_lost_total: counter(
    'Leases that ended before they were given back',
    'connection',
    'kind', // lock, semaphore, leader
    'name',
    'reason', // expired, stolen, unreachable, max-hold
  ),
  locks_held: gauge('Leases that this process holds', 'connection', 'kind'),
  semaphore_permits: gauge('Permits that this process holds', 'connection', 'name'),
  leader: gauge('1 while this process leads', 'connection', 'name'),
  runonce_total: counter(
    'Runs that were claimed',
    'connection',
    'name',
    'outcome' /* claimed, skipped, unavailable, error */,
  ),

  idempotency_total: counter(
    'Calls with an idempotency key',
    'connection',
    'name',
    'outcome', // executed, replayed, failed, busy, mismatch, unkept, unavailable
  ),

  stream_published_total: counter(
    'Messages that were published',
    'connection',
    'stream',
    'outcome' /* published, error */,
  ),
  stream_publish_seconds: histogram('How long publishing took', 'connection', 'stream', 'outcome'),
  stream_processed_total: counter(
    'Runs of handlers',
    'connection',
    'stream',
    'group',
    'outcome', // ack, retry, dead_letter, lost, aborted
  ),
  stream_process_seconds: histogram('How long handlers ran', 'connection', 'stream', 'group', 'outcome'),
  stream_dead_letters_total: counter(
    'Messages that a group could not process',
    'connection',
    'stream',
    'group',
    'reason', // max-attempts, max-deliveries, unrecoverable, decode, unknown-type, handler
  ),
  stream_lag_entries: gauge('Entries that the group was not given yet', 'connection', 'stream', 'group'),
  stream_pending_entries: gauge('Entries that were delivered and not acknowledged', 'connection', 'stream', 'group'),
  stream_oldest_pending_seconds: gauge('Age of the oldest of those', 'connection', 'stream', 'group'),
  stream_inflight: gauge('Entries that this process holds', 'connection', 'stream', 'group'),

  pubsub_published_total: counter('Messages that were published', 'connection', 'outcome' /* published, error */),
  pubsub_publish_seconds: histogram('How long publishing took', 'connection', 'outcome'),
  pubsub_messages_total: counter('Runs of handlers', 'connection', 'name', 'outcome' /* ok, error */),
  pubsub_process_seconds: histogram('How long handlers ran', 'connection', 'name', 'outcome'),
  pubsub_gaps_total: counter(
    'Times that a subscription may have missed messages',
    'connection',
    'name',
    'reason', // disconnected, moved, overflow, sequence, trimmed, reset, unreadable
  ),

  session_operations_total: operations('Calls of sessions'), // also conflict, too-large, revoked
  token_operations_total: operations('Calls of tokens'),
  leaderboard_operations_total: operations('Calls of leaderboards'),
  counting_operations_total: operations('Calls of counters, unique counters and Bloom filters'),
  feed_operations_total: operations('Calls of feeds'),
  operation_seconds: histogram('How long those calls took', 'connection', 'pattern', 'name'),
  throttler_decisions_total: counter(
    'What each limit of @nestjs/throttler said',
    'connection',
    'name',
    'source', // redis, local, open, closed
    'outcome', // allowed, denied, closed
  ),
  throttler_seconds: histogram('How long those decisions took', 'connection', 'source'),

  gaps_total: counter(
    'Times that messages or changes may have been missed',
    'connection',
    'kind' /* pubsub, tracking */,
  ),
  gap_seconds: histogram('How long they lasted', 'connection', 'kind'),
  up: gauge(
    '1 while all sockets of the role can be used',
    'connection',
    'role' /* command, blocking, subscriber, tracking */,
  ),
  commands_inflight: gauge('Calls that owe a reply', 'connection'),
  commands_failed_total: counter(
    'Calls that did not end well',
    'connection',
    'role',
    'outcome', // refused, not-sent, unknown
    'code', // ERR_REDIS_…
  ),
  connections_lost_total: counter('Sockets that were lost', 'connection', 'role'),
  breaker_state: gauge('1 while calls are kept from a server that does not answer', 'connection'),
  breaker_opened_total: counter('Times that a breaker opened', 'connection'),
} as const satisfies Record<string, Metric>;

export type MetricName = keyof typeof METRICS;
export type MetricOf<Kind extends Metric['kind']> = {
  [Name in MetricName]: (typeof METRICS)[Name]['kind'] extends Kind ? Name : never;
}[MetricName];

/** Upper bounds of the classes of all histograms of times, seconds. */
export const BUCKETS: readonly number[] = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
];

/** The same of sizes, bytes. */
export const BYTE_BUCKETS: readonly number[] = [64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304];

/** The unit that the name of a metric ends with. */
export function unitOf(name: string): 'seconds' | 'bytes' | undefined {
  return name.endsWith('_seconds') ? 'seconds' : name.endsWith('_bytes') ? 'bytes' : undefined;
}
