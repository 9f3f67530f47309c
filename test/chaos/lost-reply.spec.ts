import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Operation, RedisClient } from '../../libs/redis-patterns/src/connection/index.js';
import { eventually } from '../support/eventually.js';
import { History } from '../support/history.js';
import { describeOn, type SharedTopology } from '../support/topologies.js';
import { Load, LONG, outcomeOf, print, summary } from './support/load.js';
import { LIMIT, LOSSES, LossyPlace } from './support/lost-reply-place.js';

/** Losses in a row. */
const STORM = LONG ? 300 : 8;

/** Counts once for each token, and finds its own earlier run. */
const COUNT_TOKEN = `if redis.call('SADD', KEYS[2], ARGV[1]) == 1 then redis.call('INCR', KEYS[1]) end
return tonumber(redis.call('GET', KEYS[1]))`;

/** Something that a pattern does to Redis, and how often it has been done. */
interface Deed {
  readonly name: string;
  /** What may be repeated succeeds when the network is well again in time. */
  readonly repeatable: boolean;
  key(place: LossyPlace, subject: string): string;
  run(place: LossyPlace, subject: string): Promise<unknown>;
  times(place: LossyPlace, subject: string): Promise<number>;
}

function counting(
  effect: Operation<number>['effect'],
  send: (client: RedisClient, key: string) => Promise<number>,
): Deed {
  const key = (_: LossyPlace, subject: string): string => `{${subject}}:n`;
  return {
    name: `an operation with the effect '${effect}'`,
    repeatable: effect !== 'once',
    key,
    run: (place, subject) => {
      const k = key(place, subject);
      return place.behind.connection.run({
        name: 'test',
        effect,
        key: k,
        wait: true,
        send: (client) => send(client, k),
      });
    },
    times: async (place, subject) => Number(await place.direct.connection.client.get(key(place, subject))),
  };
}

const DEEDS: readonly Deed[] = [
  counting('once', (client, key) => client.incr(key)),
  counting('idempotent', (client, key) => client.set(key, 1).then(() => 1)),
  counting('token', (client, key) => client.eval(COUNT_TOKEN, 2, key, `${key}:tokens`, 'mine') as Promise<number>),
  {
    name: 'StreamProducer.publish',
    repeatable: false,
    key: ({ direct }, subject) => direct.context.keys.main('stream', subject),
    run: ({ behind }, subject) => behind.producer.publish(subject, 'payload'),
    times: (place, subject) => place.direct.connection.client.xlen(place.direct.context.keys.main('stream', subject)),
  },
  {
    name: 'CounterService.incr',
    repeatable: false,
    key: ({ direct }, subject) => direct.context.keys.main('counter', subject),
    run: ({ behind }, subject) => behind.counters.incr(subject),
    times: ({ direct }, subject) => direct.counters.get(subject),
  },
  {
    name: 'CounterService.incr with an opId',
    repeatable: true,
    key: ({ direct }, subject) => direct.context.keys.main('counter', subject),
    run: ({ behind }, subject) => behind.counters.incr(subject, { opId: 'message' }),
    times: ({ direct }, subject) => direct.counters.get(subject),
  },
  {
    name: 'RateLimitService.consume',
    repeatable: false,
    key: ({ direct }, subject) => direct.context.keys.tagged('ratelimit', 'p', subject),
    run: ({ behind }, subject) => behind.limits.consume('p', subject),
    times: async ({ direct }, subject) => LIMIT - (await direct.limits.peek('p', subject)).remaining,
  },
];

for (const mode of ['standalone', 'cluster'] as const) {
  describeOn(mode, 'a lost message', (topology) => {
    let place: LossyPlace;
    let subjects = 0;
    const newSubject = (): string => `${topology.namespace}-${subjects++}`;
    beforeAll(async () => {
      place = await LossyPlace.open(topology);
    });
    afterAll(() => place.close());

    describe.each(DEEDS)('$name', (deed) => {
      it.each(LOSSES)('invariant 3: happens once at most when $name', async (loss) => {
        const subject = newSubject();
        const key = deed.key(place, subject);
        const [result] = await place.strike(loss, key, () => Promise.allSettled([deed.run(place, subject)]));
        await place.quiet(key);
        const repeated = deed.repeatable && !loss.patient;
        if (repeated) expect(result.status).toBe('fulfilled');
        else expect(result.status === 'rejected' && outcomeOf(result.reason)).toBe('unknown');
        expect(await deed.times(place, subject)).toBe(repeated ? 1 : loss.happened);
      });

      it('invariant 2: is not sent while its server cannot be reached, and does not happen later', async () => {
        const subject = newSubject();
        const key = deed.key(place, subject);
        await place.cutOff(key);
        const [result] = await Promise.allSettled([deed.run(place, subject)]);
        await place.proxyOf(key).set('pass');
        await place.quiet(key);
        expect(result.status === 'rejected' && outcomeOf(result.reason)).toBe('not-sent');
        expect(await deed.times(place, subject)).toBe(0);
      });
    });

    it(
      'invariants 2 and 3: a storm of losses leaves every write once, as its caller was told',
      async () => {
        const load = new Load(topology.namespace, mode === 'cluster' ? 3 : 1);
        for (const n of [1, 2]) {
          load.call({ name: `plain-${n}`, connection: place.behind.connection });
          load.call({ name: `waiting-${n}`, connection: place.behind.connection, wait: true });
        }
        const stream = newSubject();
        const subject = newSubject();
        const published = new Busy((id) => place.behind.producer.publish(stream, id));
        const consumed = new Busy(() => place.behind.limits.consume('p', subject));
        for (let turn = 0; turn < STORM; turn++) {
          const { mode: fault, cut } = LOSSES[turn % LOSSES.length]!;
          const failures = (): number => load.writes.filter(({ outcome }) => outcome !== 'ok').length;
          const before = failures();
          await place.fleet.set(fault, { cut });
          await eventually(() => failures() > before);
          await place.fleet.set('pass');
          await load.progress(5);
        }
        await Promise.all([load, published, consumed].map((each) => each.stop()));
        await place.quiet(`${topology.namespace}:x`);
        const report = await load.report((key) => topology.admin.client.lrange(key, 0, -1));
        print(`${mode}, storm of ${STORM} losses: ${summary(load.writes)}`);
        print(`  published: ${published.summary()}; consumed: ${consumed.summary()}`);
        expect(report).toMatchObject({ ghosts: [], duplicates: [], lost: [] });
        expect(published.history.check(await payloads(topology, stream))).toEqual({
          lost: [],
          ghosts: [],
          duplicates: [],
        });
        const units = LIMIT - (await place.direct.limits.peek('p', subject)).remaining;
        const [sure, unsure] = (['ok', 'unknown'] as const).map((outcome) => consumed.history.ids(outcome).length);
        expect(units).toBeGreaterThanOrEqual(sure!);
        expect(units).toBeLessThanOrEqual(sure! + unsure!);
      },
      LONG ? 600_000 : 60_000,
    );
  });
}

/** Does the same again and again, and writes down how it ended. */
class Busy {
  readonly history = new History();
  #stopped = false;
  readonly #running: Promise<void>;

  constructor(deed: (id: string) => Promise<unknown>) {
    this.#running = this.#run(deed);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#running;
  }

  summary(): string {
    const outcomes = ['ok', 'refused', 'not-sent', 'unknown'] as const;
    return outcomes.map((outcome) => `${outcome} ${this.history.ids(outcome).length}`).join(', ');
  }

  async #run(deed: (id: string) => Promise<unknown>): Promise<void> {
    while (!this.#stopped) {
      await this.history.attempt(deed, outcomeOf);
      await new Promise((resolve) => setTimeout(resolve, 4));
    }
  }
}

async function payloads({ admin, namespace }: SharedTopology, stream: string): Promise<string[]> {
  const entries = await admin.client.xrange(`${namespace}:stream:${stream}`, '-', '+');
  return entries.map(([, fields]) => JSON.parse(fields[fields.indexOf('data') + 1]!) as string);
}
