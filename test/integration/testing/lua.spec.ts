import { describe, expect, it } from '@jest/globals';
import * as cache from '../../../libs/redis-patterns/src/cache/scripts.generated.js';
import * as idempotency from '../../../libs/redis-patterns/src/idempotency/scripts.generated.js';
import * as lock from '../../../libs/redis-patterns/src/lock/scripts.generated.js';
import * as rateLimit from '../../../libs/redis-patterns/src/rate-limit/scripts.generated.js';
import * as stream from '../../../libs/redis-patterns/src/stream/scripts.generated.js';
import * as throttler from '../../../libs/redis-patterns/src/throttler/scripts.generated.js';
import { compile } from '../../../libs/redis-patterns/src/testing/lua/compiler.js';

const scripts = Object.values({ ...cache, ...idempotency, ...lock, ...rateLimit, ...stream, ...throttler });

describe('the compiler of scripts', () => {
  it.each(scripts.map(({ name, lua }) => [name, lua]))('compiles %s', (_, lua) => {
    expect(compile(lua)).toBeInstanceOf(Function);
  });
});
