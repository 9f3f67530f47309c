// The single-process part of the suites of the patterns, run on the Redis in memory that `nestjs-redis-patterns/testing` gives to
// applications. They run on real servers elsewhere: what an application's test sees in memory, it sees there as well.
process.env.REDIS_PATTERNS_TOPOLOGIES = 'memory';

const SUITES = [
  'cache/values',
  'cache/tags',
  'cache/stale',
  'cache/many',
  'cache/loads',
  'cache/resurrection',
  'cache/tag-index',
  'lock/hand-over',
  'lock/lock',
  'lock/many',
  'lock/read-write',
  'lock/waiting',
  'rate-limit/decisions',
  'rate-limit/penalties',
  'stream/ordering',
  'stream/publish',
  'stream/retries',
  'stream/settle',
  'session/sessions',
  'token/tokens',
  'leaderboard/boards',
  'counting/unique',
];
for (const suite of process.env.CONTRACT?.split(',') ?? SUITES) await import(`../${suite}.spec.js`);
