import { Injectable, type INestApplicationContext } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Idempotent, IdempotencyService, RedisPatternsModule, type IdempotencyContext } from 'nestjs-redis-patterns';
import { Observable, lastValueFrom, of } from 'rxjs';
import { eventually } from '../../support/eventually.js';
import { describeOnEachTopology } from '../../support/topologies.js';
import { gate, openIdempotency, type OpenIdempotency } from './test-idempotency.js';

const nothing = (): undefined => undefined;

@Injectable()
class Payments {
  readonly runs: string[] = [];
  fence: bigint | undefined;
  constructor(private readonly idempotency: IdempotencyService) {}

  @Idempotent({ key: (id: string) => ['payment', id] })
  async pay(id: string, amount: number): Promise<{ id: string; amount: number; at: Date }> {
    this.fence = this.idempotency.current()?.fence;
    this.runs.push(`pay ${id}`);
    if (amount < 0) throw new RangeError('a negative amount');
    return { id, amount, at: new Date(0) };
  }

  @Idempotent({ key: (id: string) => ['payment', id] })
  async refund(id: string, _amount: number): Promise<string> {
    return `refunded ${id}`;
  }

  @Idempotent({ key: (id: string) => ['noted', id], fingerprint: (id: string) => id })
  async note(id: string, _trace: object): Promise<number> {
    return this.runs.push(`note ${id}`);
  }

  @Idempotent({ key: (id: string) => ['observed', id] })
  observed(id: string): Observable<number> {
    return of(this.runs.push(`observed ${id}`));
  }

  @Idempotent({ key: (id: string) => id })
  async keyed(_id: string): Promise<void> {}
}

describeOnEachTopology('idempotent runs', { user: 'idempotency' }, (topology) => {
  let open: OpenIdempotency;
  let other: OpenIdempotency;
  beforeAll(async () => {
    open = await openIdempotency(topology);
    other = await openIdempotency(topology);
  });
  afterAll(async () => {
    await open?.close();
    await other?.close();
  });
  const run: IdempotencyService['run'] = (...args) => open.service.run(...args);
  const record = (key: string): string => `${topology.namespace}:idempotency:${key}`;
  const ttl = (key: string): Promise<number> => topology.admin.client.pttl(record(key));

  it('run once of 40 at a time from two processes, and the rest is refused or replays', async () => {
    let runs = 0;
    const outcomes = await Promise.allSettled(
      Array.from({ length: 40 }, (_, n) =>
        (n % 2 === 0 ? open : other).service.run('parallel', 'f', async () => {
          runs += 1;
          await eventually(async () => (await ttl('parallel')) > 0);
          return { n };
        }),
      ),
    );
    expect(runs).toBe(1);
    const values = outcomes.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
    expect(new Set(values.map((value) => JSON.stringify(value))).size).toBe(1);
    const refusals = outcomes.flatMap((each) => (each.status === 'rejected' ? [each.reason as unknown] : []));
    for (const refusal of refusals)
      expect(refusal).toMatchObject({ code: 'ERR_IDEMPOTENCY_BUSY', status: 409, retryAfter: 1 });
    expect(await run('parallel', 'f', () => ({ n: -1 }))).toEqual(values[0]);
  });

  it('wait for the one that runs, as long as they may, and no longer than their signal', async () => {
    const { promise, open: finish } = gate<number>();
    const first = run('waited', 'f', () => promise);
    await eventually(async () => (await ttl('waited')) > 0);
    const waiting = Array.from({ length: 10 }, () => other.service.run('waited', 'f', () => 0, { onBusy: 'wait' }));
    await expect(run('waited', 'f', () => 0, { onBusy: 'wait', maxWait: 50 })).rejects.toMatchObject({ status: 409 });
    const leaving = run('waited', 'f', () => 0, { onBusy: 'wait', signal: AbortSignal.timeout(50) });
    await expect(leaving).rejects.toMatchObject({ name: 'TimeoutError' });
    finish(7);
    expect(await Promise.all([first, ...waiting])).toEqual(Array(11).fill(7));
  });

  it('refuse another payload, also while the first runs', async () => {
    const { promise, open: finish } = gate();
    const first = run('payload', 'one', () => promise);
    await eventually(async () => (await ttl('payload')) > 0);
    const mismatch = { code: 'ERR_IDEMPOTENCY_MISMATCH', status: 422 };
    await expect(run('payload', 'two', nothing, { onBusy: 'wait' })).rejects.toMatchObject(mismatch);
    finish();
    await first;
    await expect(run('payload', 'two', nothing)).rejects.toMatchObject(mismatch);
    expect(await run('payload', 'one', () => 'ran again')).toBeUndefined();
  });

  it('give back what the first gave, of any kind', async () => {
    const values = [undefined, null, '', 0, -0, 2n, new Date(5), [new Map([['a', new Set([1])]])], Buffer.from([1])];
    for (const [index, value] of values.entries()) {
      expect(await run(['kind', index], 'f', () => value)).toBe(value);
      expect(await run<unknown>(['kind', index], 'f', () => 'other')).toEqual(value);
    }
  });

  it('free the key when the function throws', async () => {
    await expect(run('throws', 'f', () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
    expect(await topology.admin.client.exists(record('throws'))).toBe(0);
    expect(await run('throws', 'g', () => 'works now')).toBe('works now');
  });

  it('keep the lease while it runs and the result for its ttl, on every key', async () => {
    const { promise, open: finish } = gate();
    let context!: IdempotencyContext;
    const running = run('long', 'f', (given) => ((context = given), promise), { lease: 300, ttl: '1h' });
    await eventually(() => context !== undefined);
    const until = performance.now() + 900;
    await eventually(async () => {
      const left = await ttl('long');
      // Not renewed, it would have ended.
      if (left <= 0 || left > 300) throw new Error(`the lease is ${left} ms`);
      return performance.now() > until;
    });
    expect(context.signal.aborted).toBe(false);
    finish();
    await running;
    expect(await ttl('long')).toBeGreaterThan(3_500_000);
    const keys = await topology.admin.keys(`${topology.namespace}:*`);
    for (const key of keys) expect(await topology.admin.client.pttl(key)).toBeGreaterThan(0);
  });

  it('tell a run that lost its key, and leave the record of the newer one alone', async () => {
    const { promise, open: finish } = gate<string>();
    let context!: IdempotencyContext;
    const running = run('lost', 'f', (given) => ((context = given), promise), { lease: 300 });
    await eventually(() => context !== undefined);
    const { signal, fence } = context;
    await topology.admin.client.del(record('lost'));
    const newer = await other.service.run('lost', 'f', (given) => String(given.fence));
    await eventually(() => signal.aborted);
    expect(signal.reason).toMatchObject({ code: 'ERR_IDEMPOTENCY_LOST', reason: 'taken' });
    expect(BigInt(newer) > fence).toBe(true);
    finish('late');
    // Its success is its own, and nobody else's.
    expect(await running).toBe('late');
    expect(await run('lost', 'f', nothing)).toBe(newer);
  });

  it('do not run again what succeeded but could not be kept, unless that is wanted', async () => {
    const unkept = { code: 'ERR_IDEMPOTENCY_UNKEPT', status: 409 };
    const results = { long: 'x'.repeat(200), cycle: () => {}, instance: new (class Order {})() };
    for (const [name, result] of Object.entries(results)) {
      expect(await run(['unkept', name], 'f', () => result, { maxBody: 100 })).toBe(result);
      await expect(run(['unkept', name], 'f', nothing)).rejects.toMatchObject(unkept);
      expect(await run(['rerun', name], 'f', () => result, { maxBody: 100, onUnkept: 'rerun' })).toBe(result);
      expect(await run(['rerun', name], 'f', () => 'again')).toBe('again');
    }
  });

  it('tell long keys apart', async () => {
    const long = (end: string): ['long', string] => ['long', 'k'.repeat(5000) + end];
    expect(await run(long('a'), 'f', () => 'a')).toBe('a');
    expect(await run(long('b'), 'f', () => 'b')).toBe('b');
    await expect(run('', 'f', nothing)).rejects.toMatchObject({ code: 'ERR_INVALID_KEY' });
    await expect(run('x', 'f', nothing, { lease: '1 hour' as never })).rejects.toThrow('lease');
  });

  it('end before a shutdown does, or are told', async () => {
    const closing = await openIdempotency(topology, { shutdownTimeout: 1000 });
    const [slow, endless] = [gate(), gate()];
    const signals = new Map<string, AbortSignal>();
    const running = [
      closing.service.run('slow', 'f', ({ signal }) => (signals.set('slow', signal), slow.promise)),
      closing.service.run('endless', 'f', ({ signal }) => (signals.set('endless', signal), endless.promise)),
    ];
    await eventually(() => closing.service.stats().running === 2);
    const waiter = closing.service.run('slow', 'f', nothing, { onBusy: 'wait' });
    const closed = closing.close();
    await expect(waiter).rejects.toMatchObject({ status: 503 });
    slow.open();
    await closed;
    expect(await topology.admin.client.hget(record('slow'), 's')).toBe('C');
    expect(signals.get('slow')!.aborted).toBe(false);
    expect(signals.get('endless')!.reason).toMatchObject({ reason: 'shutdown' });
    endless.open();
    await Promise.all(running);
  });

  describe('of methods', () => {
    let app: INestApplicationContext;
    let payments: Payments;
    beforeAll(async () => {
      const { namespace, connection } = topology;
      const module = RedisPatternsModule.forRoot({ namespace, connection: connection as never });
      app = await (await Test.createTestingModule({ imports: [module], providers: [Payments] }).compile()).init();
      payments = app.get(Payments);
    });
    afterAll(() => app?.close());

    it('happen once for the key, with a fence, and again after an error', async () => {
      const first = await payments.pay('one', 5);
      expect(await payments.pay('one', 5)).toEqual(first);
      expect(payments.runs).toEqual(['pay one']);
      expect(typeof payments.fence).toBe('bigint');
      await expect(payments.pay('one', 6)).rejects.toMatchObject({ status: 422 });
      for (let n = 0; n < 2; n++) await expect(payments.pay('two', -1)).rejects.toThrow(RangeError);
      expect(payments.runs).toEqual(['pay one', 'pay two', 'pay two']);
      expect(app.get(IdempotencyService).current()).toBeUndefined();
    });

    it('never get the result of another method with the same key', async () => {
      await payments.pay('three', 5);
      await expect(payments.refund('three', 5)).rejects.toMatchObject({ code: 'ERR_IDEMPOTENCY_MISMATCH' });
    });

    it('compare what `fingerprint` says, take Observables, and refuse empty keys', async () => {
      const noted = await payments.note('a', { trace: 1 });
      expect(await payments.note('a', { trace: 2 })).toBe(noted);
      const observed = await lastValueFrom(payments.observed('a'));
      expect(await lastValueFrom(payments.observed('a'))).toBe(observed);
      await expect(payments.keyed('')).rejects.toThrow(/@Idempotent on Payments.keyed:\n {2}- key: is empty for this/);
      await expect(payments.pay(undefined as never, 5)).rejects.toThrow(
        /Payments.pay:\n {2}- key: has nothing in part 1/,
      );
    });

    it('need a whole key, a text as the payload, and a function when they are run by hand', async () => {
      const byHand = app.get(IdempotencyService).run.bind(app.get(IdempotencyService)) as (
        ...args: unknown[]
      ) => unknown;
      for (const [args, message] of [
        [[['payment', undefined], 'f', () => 1], /the key has nothing in part 1/],
        [['', 'f', () => 1], /the key is empty/],
        [['a', { amount: 1 }, () => 1], /fingerprint: must be a text/],
        [['a', '', () => 1], /fingerprint: must be a text/],
        [['a', 'f'], /fn: must be a function/],
      ] as const) {
        await expect(byHand(...args)).rejects.toThrow(message);
      }
    });
  });
});
