import type { EngineContext } from '../connection/index.js';
import { toMilliseconds, type Duration } from '../core/index.js';
import { InvalidOptionsError } from '../core/errors.js';
import type { Key } from '../keys/index.js';
import { checkedOptions } from './call-options.js';
import type { AcquireOptions, ConsumeOptions, PeekOptions, RefundOptions } from './call-options.js';
import { ChargeLedger } from './charge-ledger.js';
import { checkCost, checkDistinct, type Charge } from './charges.js';
import { Decider, type DecideOptions } from './decider.js';
import type { Lease } from './lease.js';
import { Leases, type Hold } from './leases.js';
import type { Ticket } from './limit-store.js';
import { decidePatiently, type Patience } from './patience.js';
import { PolicyBook, type PolicyReference } from './policy-book.js';
import type { ResolvedRateLimitOptions } from './rate-limit.options.js';
import type { RateLimitResult } from './rate-limit.result.js';
import { subjectText } from './subject.js';

type Policies = PolicyReference | readonly PolicyReference[];

/**
 * Rate limits on Redis, decided in one round trip and by the clock of the server. A call with several policies takes from all
 * of them or from none, and a refused call costs nothing. Being above the limit is a result (`allowed: false`); when Redis
 * does not answer within `deadline`, `onStoreError` decides. Units whose reply was lost are not taken twice.
 *
 * @example
 * ```ts
 * constructor(private readonly limits: RateLimitService) {}
 * async export(user: User) {
 *   const { allowed, retryAfterMs } = await this.limits.consume(['export', 'daily'], ['user', user.id], { cost: 5 });
 *   if (!allowed) return { retryAfterMs };
 *   …
 * }
 * ```
 */
export class RateLimitService {
  /** The policies of the application. @internal */
  readonly policies: PolicyBook;
  /** What requests have been charged for. @internal */
  readonly ledger = new ChargeLedger((charges, result) => this.refundCharges(charges, result));
  readonly #decider: Decider;
  readonly #leases: Leases;
  readonly #closing = new AbortController();
  readonly #warned = new Set<string>();

  constructor(
    private readonly context: EngineContext,
    /** @internal */
    readonly options: ResolvedRateLimitOptions,
  ) {
    this.policies = new PolicyBook(options.policies);
    this.#decider = new Decider(context, options);
    this.#leases = new Leases(context, this.#decider);
  }

  /**
   * Takes units, from all of the policies or from none.
   *
   * @param policies a policy, or a list of different ones: names in `rateLimit.policies`, or what `definePolicy` made. Those that
   * hold leases (`'concurrency'`) are for {@link acquire}
   * @param key who is counted: `'user:42'` or `['user', id]`; the same one for all policies of a call
   * @throws InvalidOptionsError for a policy or cost that cannot work; InvalidKeyError for an empty key
   * @throws RateLimitUnavailableError when Redis cannot decide and a policy says `onStoreError: 'closed'`
   * @throws RedisCommandError when Redis calls the script wrong (missing rights, for example)
   */
  consume(policies: Policies, key: Key, options: ConsumeOptions = {}): Promise<RateLimitResult> {
    try {
      const { cost, signal, wait, upTo } = checkedOptions(options, 'consume');
      const charges = this.#charges(policies, cost, key, 'RateLimitService.consume');
      const decide = (): Promise<RateLimitResult> =>
        this.decide(charges, { mode: upTo === true ? 'some' : 'take', signal });
      if (wait === undefined) return decide();
      return decidePatiently(decide, (result) => result, this.#patience(wait, signal, 'consume'), false);
    } catch (error) {
      // Not an async function: each `await` would put off the answer by some turns of the microtask queue.
      return Promise.reject(error as Error);
    }
  }

  /**
   * Tells what {@link consume} would answer, and takes nothing.
   *
   * @throws as {@link consume}
   */
  async peek(policies: Policies, key: Key, options: PeekOptions = {}): Promise<RateLimitResult> {
    const { cost, signal } = checkedOptions(options, 'peek');
    return this.decide(this.#charges(policies, cost, key, 'RateLimitService.peek'), { mode: 'peek', signal });
  }

  /**
   * Takes a place of a `'concurrency'` policy, and keeps it until it is given back. While Redis cannot decide, places are counted
   * as `onStoreError` of the policy says.
   *
   * @returns `null` when there is none
   * @throws as {@link consume}
   *
   * @example
   * ```ts
   * await using lease = await limits.acquire('reports', 'all', { wait: '2s' });
   * if (lease === null) return 'busy';
   * ```
   */
  async acquire(policy: PolicyReference, key: Key, options: AcquireOptions = {}): Promise<Lease | null> {
    const { cost, signal, wait } = checkedOptions(options, 'acquire');
    const where = 'RateLimitService.acquire';
    const charges = this.#charges(policy, cost, key, where);
    const { name, algorithm } = charges[0]!.policy;
    if (algorithm !== 'concurrency') {
      throw new InvalidOptionsError(where, [
        { path: `policy '${name}'`, message: `is a '${algorithm}' policy; use consume()` },
      ]);
    }
    const hold = (): Promise<Hold> => this.hold(charges, { signal });
    if (wait === undefined) return (await hold()).lease;
    const held = await decidePatiently(hold, ({ result }) => result, this.#patience(wait, signal, 'acquire'), true);
    return held.lease;
  }

  /**
   * Gives units back, for a call that was admitted and then did not count. Never more than are taken; what has come back by
   * itself in the meantime is not given back again.
   *
   * @throws InvalidOptionsError for a `'concurrency'` policy: its leases are released
   * @throws RedisUnavailableError when Redis does not answer
   *
   * @example
   * ```ts
   * const { at } = await limits.consume('login', ['user', name]);
   * if (await this.passwordFits(name, password)) await limits.refund('login', ['user', name], { at });
   * ```
   */
  async refund(policies: Policies, key: Key, options: RefundOptions = {}): Promise<void> {
    const { cost, at } = checkedOptions(options, 'refund');
    const where = 'RateLimitService.refund';
    if (at !== undefined && !(Number.isSafeInteger(at) && at > 0)) {
      throw new InvalidOptionsError(where, [{ path: 'at', message: 'must be the `at` of a result, in microseconds' }]);
    }
    const tickets = this.#tickets(policies, cost, key, where);
    const leased = tickets.find(({ policy }) => policy.algorithm === 'concurrency');
    if (leased !== undefined) {
      const message = "is a 'concurrency' policy; use release() of the lease";
      throw new InvalidOptionsError(where, [{ path: `policy '${leased.policy.name}'`, message }]);
    }
    await this.#givingRoom(tickets, () => this.#decider.store.refund(tickets, at));
  }

  /**
   * Gives a subject all of its units back, and lifts its blocks. Leases of a `'concurrency'` policy are lost.
   *
   * @throws RedisUnavailableError when Redis does not answer
   */
  async reset(policies: Policies, key: Key): Promise<void> {
    const tickets = this.#tickets(policies, undefined, key, 'RateLimitService.reset');
    for (const ticket of tickets) this.#decider.local.forget(ticket.key);
    await this.#givingRoom(tickets, () => this.#decider.store.reset(tickets));
  }

  /**
   * Refuses a subject for a time, whatever room it has. A block that it has already is replaced. Does not hold while Redis cannot
   * decide, and does not touch leases that are held.
   *
   * @param duration from `'1ms'`
   * @throws RedisUnavailableError when Redis does not answer
   */
  async block(policies: Policies, key: Key, duration: Duration): Promise<void> {
    const where = 'RateLimitService.block';
    const ms = toMilliseconds(duration, where, 'duration');
    if (ms < 1)
      throw new InvalidOptionsError(where, [{ path: 'duration', message: 'must be at least 1ms; see unblock()' }]);
    const tickets = this.#tickets(policies, undefined, key, where);
    await this.#decider.store.block(tickets, ms);
  }

  /**
   * Lifts the blocks of a subject, and forgets how often it was blocked; what it has taken stays taken.
   *
   * @throws RedisUnavailableError when Redis does not answer
   */
  async unblock(policies: Policies, key: Key): Promise<void> {
    const tickets = this.#tickets(policies, undefined, key, 'RateLimitService.unblock');
    await this.#givingRoom(tickets, () => this.#decider.store.unblock(tickets));
  }

  /** The decision on charges that are known to be valid and of different policies. @internal */
  decide(charges: readonly Charge[], options?: DecideOptions): Promise<RateLimitResult> {
    return this.#decider.decide(charges, options);
  }

  /** The same where some of the policies hold leases. @internal */
  hold(charges: readonly Charge[], options: DecideOptions = {}): Promise<Hold> {
    return this.#leases.hold(charges, options);
  }

  /**
   * Gives back what {@link decide} or {@link hold} took for some of the charges, leases apart: once, however often it is called.
   * Never rejects.
   *
   * @internal
   */
  refundCharges(charges: readonly Charge[], result: RateLimitResult): Promise<void> {
    return this.#decider.refund(charges, result);
  }

  /** Tells the application's log, once for each topic. @internal */
  warnOnce(topic: string, message: string): void {
    if (this.#warned.has(topic)) return;
    this.#warned.add(topic);
    this.context.telemetry.emit('warning', { pattern: 'RateLimit', code: 'ERR_RATE_LIMIT_SUBJECT', message });
  }

  /** Ends the waiting, and gives all leases back. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#leases.close();
  }

  /** Refusals that were remembered before, or while the answer was on its way, do not hold any more. */
  async #givingRoom(tickets: readonly Ticket[], work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } finally {
      this.#decider.forgetRefusals(tickets);
    }
  }

  #patience(wait: Duration, signal: AbortSignal | undefined, method: string): Patience {
    return { wait: toMilliseconds(wait, `RateLimitService.${method}`, 'wait'), signal, closing: this.#closing.signal };
  }

  #tickets(policies: Policies, cost: number | undefined, key: Key, where: string): Ticket[] {
    return this.#charges(policies, cost, key, where).map((charge) => this.#decider.store.ticket(charge));
  }

  #charges(policies: Policies, cost: number | undefined, key: Key, where: string): readonly Charge[] {
    if (cost !== undefined) checkCost(cost, where);
    const subject = subjectText(key);
    const charge = (reference: PolicyReference): Charge => {
      const policy = this.policies.find(reference, where);
      return { policy, cost: cost ?? policy.cost, subject };
    };
    if (!Array.isArray(policies)) return [charge(policies as PolicyReference)];
    const charges = (policies as readonly PolicyReference[]).map(charge);
    checkDistinct(
      charges.map(({ policy }) => policy),
      where,
    );
    return charges;
  }
}
