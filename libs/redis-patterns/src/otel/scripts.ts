import * as buckets from '../buckets/scripts.generated.js';
import * as cache from '../cache/scripts.generated.js';
import * as counting from '../counting/scripts.generated.js';
import * as feed from '../feed/scripts.generated.js';
import * as idempotency from '../idempotency/scripts.generated.js';
import * as leaderboard from '../leaderboard/scripts.generated.js';
import * as lock from '../lock/scripts.generated.js';
import * as pubsub from '../pubsub/scripts.generated.js';
import * as rateLimit from '../rate-limit/scripts.generated.js';
import * as session from '../session/scripts.generated.js';
import * as stream from '../stream/scripts.generated.js';
import * as throttler from '../throttler/scripts.generated.js';
import * as token from '../token/scripts.generated.js';

/** Every script of the library. */
export const SCRIPTS = [
  buckets,
  cache,
  counting,
  feed,
  idempotency,
  leaderboard,
  lock,
  pubsub,
  rateLimit,
  session,
  stream,
  throttler,
  token,
].flatMap((module) => Object.values(module));

/** Their names, by the hash that EVALSHA has in place of them. */
export const SCRIPT_NAMES: ReadonlyMap<string, string> = new Map(SCRIPTS.map(({ sha, name }) => [sha, name]));
