import type { Workload } from '../doctor.report.js';

/** What the patterns of this library keep, by the second part of a key. */
const PATTERNS: Readonly<Record<string, Workload>> = {
  cache: 'cache',
  lock: 'lock',
  rwlock: 'lock',
  semaphore: 'lock',
  leader: 'lock',
  runonce: 'lock',
  ratelimit: 'limiter',
  idempotency: 'idempotency',
  session: 'session',
  'session-principal': 'session',
  token: 'session',
  stream: 'stream',
  pubsub: 'stream',
  leaderboard: 'other',
  feed: 'other',
  unique: 'other',
  counter: 'other',
  bloom: 'other',
};

/** The class of `<namespace>:<pattern>…` and of its companions, `<namespace>:<pattern>~<role>…`. */
export function ownWorkload([, pattern = '', ...rest]: readonly string[]): Workload | undefined {
  if (rest.length === 0) return undefined;
  const [name = ''] = pattern.split('~');
  return Object.hasOwn(PATTERNS, name) ? PATTERNS[name] : undefined;
}

/** First parts that other libraries are known by. */
export const STRANGERS: Readonly<Record<string, Workload>> = {
  bull: 'queue',
  bullmq: 'queue',
  bee: 'queue',
  sidekiq: 'queue',
  celery: 'queue',
  sess: 'session',
  session: 'session',
  sessions: 'session',
  'connect.sid': 'session',
};
