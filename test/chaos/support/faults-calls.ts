import { CacheService, resolveCacheOptions } from '../../../libs/redis-patterns/src/cache/index.js';
import { LockService } from '../../../libs/redis-patterns/src/lock/index.js';
import { resolveLockOptions } from '../../../libs/redis-patterns/src/lock/lock.options.js';
import { RateLimitService, resolveRateLimitOptions } from '../../../libs/redis-patterns/src/rate-limit/index.js';
import { resolveStreamOptions, StreamProducer, StreamRuntime } from '../../../libs/redis-patterns/src/stream/index.js';
import type { OpenEngine } from '../../support/engine.js';
import { findOverlaps, History, type Hold, type Outcome } from '../../support/history.js';
import { KEYS, listKey, readKey, tokenListKey } from './faults-keys.js';
import { Load, WrongAnswer, type Kind } from './faults-load.js';

/** Deadlines of the application under load, milliseconds. */
export const COMMAND_TIMEOUT = 300;
const CACHE_TIMEOUT = 150;
/** For a loader that nobody has heard of since a fault kept it from giving up its lease. */
const CACHE_WAIT = 100;
const LIMIT_DEADLINE = 100;
/** A decision of a lock takes 1 s at most, and so does its release; then a last call each. */
const LOCK_TIME = 2 * (1000 + COMMAND_TIMEOUT);
const LEASE = 700;
/** Longer than most faults: who is not told that the lock is lost is found inside together with the next holder. */
const HOLD = 2000;

/** Appends a text once, however often it is asked with the same text. */
const APPEND_ONCE = `if redis.call('SADD', KEYS[2], ARGV[1]) == 0 then return 0 end
redis.call('RPUSH', KEYS[1], ARGV[1])
return 1`;

function outcomeOf(error: unknown): Outcome {
  return (error as { outcome?: Outcome }).outcome ?? 'unknown';
}

/** An application that uses every pattern on one connection, and remembers what it was told. */
export class BusyApplication {
  readonly load: Load;
  #history = new History();
  #published = new History();
  #before = new Set<string>();
  #consumed = new Set<unknown>();
  #holds: Hold[] = [];
  /** Sets the keys of one row of the catalogue apart from those of the next. */
  #run = 0;
  readonly #cache: CacheService;
  readonly #limits: RateLimitService;
  /** Two, because what one service holds its own callers may share. */
  readonly #locks: readonly [LockService, LockService];
  readonly #producer: StreamProducer;
  readonly #runtime: StreamRuntime;

  constructor(private readonly engine: OpenEngine) {
    const { context } = engine;
    const where = 'the chaos suite';
    this.#cache = new CacheService(
      context,
      resolveCacheOptions({ operationTimeout: CACHE_TIMEOUT, wait: CACHE_WAIT }, where),
    );
    const policies = { load: { limit: 1_000_000, window: '1m' } };
    this.#limits = new RateLimitService(
      context,
      resolveRateLimitOptions({ policies, deadline: LIMIT_DEADLINE }, where),
    );
    const locks = () => new LockService(context, resolveLockOptions({ lease: LEASE, shutdownTimeout: 100 }, where));
    this.#locks = [locks(), locks()];
    this.#producer = new StreamProducer(context, resolveStreamOptions({}, where));
    this.#runtime = new StreamRuntime(context, resolveStreamOptions({}, where));
    this.load = new Load(this.#kinds());
  }

  async consume(): Promise<void> {
    const options = { stream: 's', group: 'g', lease: 1000, block: 200 };
    const { ready } = this.#runtime.consume(options, (id) => void this.#consumed.add(id));
    this.#runtime.start();
    await ready;
  }

  begin({ atOnce }: { atOnce: boolean }): void {
    this.#run++;
    this.#before.clear();
    this.#history = new History();
    this.#published = new History();
    this.#consumed = new Set();
    this.#holds = [];
    this.load.start({ atOnce });
  }

  /** What is published from here on is not lost with the data of the servers. */
  mark(): void {
    this.#before = new Set(this.#published.ids('ok'));
    this.load.mark();
  }

  /** Messages that were acknowledged, since the last mark or in this run, and have not been handled. */
  unhandled({ sinceMark }: { sinceMark: boolean }): number {
    const due = this.#published.ids('ok').filter((id) => !sinceMark || !this.#before.has(id));
    return due.filter((id) => !this.#consumed.has(id)).length;
  }

  /** Compares with what is in Redis, and tells which holds of the contended lock overlapped. */
  check(found: { written: string[]; published: string[] }) {
    return {
      written: this.#history.check(found.written),
      published: this.#published.check(found.published),
      overlaps: findOverlaps(this.#holds),
    };
  }

  async close(): Promise<void> {
    await this.#runtime.drain(100);
    await Promise.all([this.#cache.close(), ...this.#locks.map((locks) => locks.close())]);
    this.load.lateness.stop();
  }

  #kinds(): Kind[] {
    const { connection } = this.engine;
    return [
      {
        name: 'read',
        callers: 4,
        atOnce: true,
        deadline: COMMAND_TIMEOUT,
        call: (caller, turn) => this.#read(caller * 3 + turn),
      },
      {
        name: 'once',
        callers: 3,
        atOnce: true,
        deadline: COMMAND_TIMEOUT,
        call: (caller, turn) => this.#append(caller + turn),
      },
      { name: 'token', callers: 3, deadline: COMMAND_TIMEOUT, call: (caller, turn) => this.#appendOnce(caller + turn) },
      {
        name: 'cache',
        callers: 2,
        deadline: CACHE_TIMEOUT + CACHE_WAIT,
        call: (caller, turn) => this.#load(caller, turn),
      },
      { name: 'limit', callers: 2, deadline: LIMIT_DEADLINE, call: (caller) => this.#consumeUnit(caller) },
      { name: 'publish', callers: 2, deadline: connection.commandTimeout, call: () => this.#publish() },
      { name: 'lock', callers: 1, deadline: LOCK_TIME, call: (_, turn) => this.#useLock(turn) },
      { name: 'keeper', callers: 1, deadline: LOCK_TIME + HOLD + 1000, call: () => this.#keep() },
      { name: 'contender', callers: 1, deadline: LOCK_TIME, call: () => this.#contend() },
    ];
  }

  get #namespace(): string {
    return this.engine.context.keys.namespace;
  }

  /** Key n holds n or nothing: any other answer was somebody else's. */
  async #read(n: number): Promise<string> {
    const key = readKey(this.#namespace, n);
    const expected = String(n % KEYS);
    const { connection } = this.engine;
    const value = await connection.run({ name: 'chaos.get', effect: 'read', key, send: (client) => client.get(key) });
    if (value === expected) return 'ok';
    if (value !== null) throw new WrongAnswer(`${key} answered ${value}`);
    const set = {
      name: 'chaos.set',
      effect: 'idempotent',
      key,
      send: () => connection.client.set(key, expected),
    } as const;
    void connection.run(set).catch(() => undefined);
    return 'ok empty';
  }

  async #append(n: number): Promise<string> {
    const key = listKey(this.#namespace, this.#run, n);
    return this.#recorded(this.#history, (id) =>
      this.engine.connection.run({ name: 'chaos.rpush', effect: 'once', key, send: (client) => client.rpush(key, id) }),
    );
  }

  async #appendOnce(n: number): Promise<string> {
    const key = tokenListKey(this.#namespace, this.#run, n);
    return this.#recorded(this.#history, (id) =>
      this.engine.connection.run({
        name: 'chaos.append-once',
        effect: 'token',
        wait: true,
        key,
        send: (client) => client.eval(APPEND_ONCE, 2, key, `${key}:seen`, id),
      }),
    );
  }

  /** Every second call finds what the one before it has stored. */
  async #load(caller: number, turn: number): Promise<string> {
    const value = `${caller}-${turn >> 1}`;
    let loaded = false;
    const got = await this.#cache.getOrSet(['c', this.#run, value], () => {
      loaded = true;
      return Promise.resolve(value);
    });
    if (got !== value) throw new WrongAnswer(`the cache answered ${got} for ${value}`);
    return loaded ? 'ok loaded' : 'ok hit';
  }

  async #consumeUnit(caller: number): Promise<string> {
    const { allowed, source } = await this.#limits.consume('load', ['user', caller]);
    if (!allowed) throw new WrongAnswer('a limit of a million was reached');
    return `ok ${source}`;
  }

  #publish(): Promise<string> {
    return this.#recorded(this.#published, (id) => this.#producer.publish('s', id, { key: `${this.#run}/${id}` }));
  }

  async #useLock(turn: number): Promise<string> {
    await this.#locks[0].using(['own', turn % KEYS], {}, () => undefined);
    return 'ok';
  }

  /** Holds one lock for as long as it may. */
  async #keep(): Promise<string> {
    await this.#locks[0].using('contended', { wait: '1s', onLost: 'ignore' }, async ({ signal }) => {
      const from = performance.now();
      await new Promise<void>((resolve) => {
        const end = (): void => {
          clearInterval(poll);
          resolve();
        };
        const poll = setInterval(() => {
          if (this.load.stopping || performance.now() - from > HOLD) end();
        }, 20);
        if (signal.aborted) end();
        signal.addEventListener('abort', end, { once: true });
      });
      this.#holds.push({ owner: 'keeper', from, to: performance.now() });
    });
    return 'ok';
  }

  async #contend(): Promise<string> {
    const lock = await this.#locks[1].tryAcquire('contended', { lease: 200 });
    if (lock === null) return 'ok busy';
    const from = performance.now();
    await lock.release();
    this.#holds.push({ owner: 'contender', from, to: from });
    return 'ok';
  }

  async #recorded(history: History, write: (id: string) => Promise<unknown>): Promise<string> {
    const id = history.begin();
    try {
      await write(id);
      history.settle(id, 'ok');
      return 'ok';
    } catch (error) {
      history.settle(id, outcomeOf(error));
      throw error;
    }
  }
}
