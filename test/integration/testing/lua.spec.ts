import { describe, expect, it } from '@jest/globals';
import * as buckets from '../../../libs/redis-patterns/src/buckets/scripts.generated.js';
import * as cache from '../../../libs/redis-patterns/src/cache/scripts.generated.js';
import * as counting from '../../../libs/redis-patterns/src/counting/scripts.generated.js';
import * as feed from '../../../libs/redis-patterns/src/feed/scripts.generated.js';
import * as idempotency from '../../../libs/redis-patterns/src/idempotency/scripts.generated.js';
import * as leaderboard from '../../../libs/redis-patterns/src/leaderboard/scripts.generated.js';
import * as lock from '../../../libs/redis-patterns/src/lock/scripts.generated.js';
import * as pubsub from '../../../libs/redis-patterns/src/pubsub/scripts.generated.js';
import * as rateLimit from '../../../libs/redis-patterns/src/rate-limit/scripts.generated.js';
import * as session from '../../../libs/redis-patterns/src/session/scripts.generated.js';
import * as stream from '../../../libs/redis-patterns/src/stream/scripts.generated.js';
import * as throttler from '../../../libs/redis-patterns/src/throttler/scripts.generated.js';
import * as token from '../../../libs/redis-patterns/src/token/scripts.generated.js';
import { compile } from '../../../libs/redis-patterns/src/testing/interpreter/compiler.js';

const scripts = [
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
].flatMap((each) => Object.values(each));

describe('the compiler of scripts', () => {
  it.each(scripts.map(({ name, lua }) => [name, lua]))('compiles %s', (_, lua) => {
    expect(compile(lua)).toBeInstanceOf(Function);
  });
});
