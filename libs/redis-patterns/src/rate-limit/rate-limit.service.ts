import { RedisUnavailableError, type EngineContext } from '../connection/index.js';
import type { Key } from '../keys/index.js';
import { runScript, type ScriptCallOptions } from '../scripting/index.js';
import { checkCost, checkDistinct, type Charge } from './charges.js';
import { ChargeLedger } from './charge-ledger.js';
import { LocalLimiter } from './local-limiter.js';
import type { OnStoreError, ResolvedPolicy } from './policy.js';
import { PolicyBook, type PolicyReference } from './policy-book.js';
import { RateLimitUnavailableError } from './rate-limit.errors.js';
import type { ResolvedRateLimitOptions } from './rate-limit.options.js';
import { toPolicyResult, toResult, type RateLimitResult } from './rate-limit.result.js';
import { consumeScript } from './scripts.generated.js';
import { subjectText } from './subject.js';

/** Options of `consume` and `peek`. */
export interface ConsumeOptions {
  /** Units of this call, for every policy of it. An integer from 0. Default: the `cost` of each policy. */
  cost?: number;
  /** Ends the wait for Redis. The units may have been taken nevertheless. */
  signal?: AbortSignal;
}

type Mode = 'take' | 'peek';

const FIELDS = 3;

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
  readonly ledger = new ChargeLedger<RateLimitResult>();
  readonly #local: LocalLimiter;
  readonly #warned = new Set<string>();
  #storeFails = false;

  constructor(
    private readonly context: EngineContext,
    /** @internal */
    readonly options: ResolvedRateLimitOptions,
  ) {
    this.policies = new PolicyBook(options.policies);
    this.#local = new LocalLimiter(options.localShare);
  }

  /**
   * Takes units, from all of the policies or from none.
   *
   * @param policies a policy, or a list of different ones: names in `rateLimit.policies`, or what `definePolicy` made
   * @param key who is counted: `'user:42'` or `['user', id]`; the same one for all policies of a call
   * @throws InvalidOptionsError for a policy or cost that cannot work; InvalidKeyError for an empty key
   * @throws RateLimitUnavailableError when Redis cannot decide and a policy says `onStoreError: 'closed'`
   * @throws RedisCommandError when Redis calls the script wrong (missing rights, for example)
   */
  consume(
    policies: PolicyReference | readonly PolicyReference[],
    key: Key,
    options: ConsumeOptions = {},
  ): Promise<RateLimitResult> {
    return this.#decideNamed(policies, key, options, 'take');
  }

  /**
   * Tells what {@link consume} would answer, and takes nothing.
   *
   * @throws as {@link consume}
   */
  peek(
    policies: PolicyReference | readonly PolicyReference[],
    key: Key,
    options: ConsumeOptions = {},
  ): Promise<RateLimitResult> {
    return this.#decideNamed(policies, key, options, 'peek');
  }

  /**
   * Gives a subject all of its units back.
   *
   * @throws RedisUnavailableError when Redis does not answer
   */
  async reset(policies: PolicyReference | readonly PolicyReference[], key: Key): Promise<void> {
    const subject = subjectText(key);
    const charges = this.#charges(policies, undefined, 'RateLimitService.reset');
    const keys = charges.map(({ policy }) => this.#stateKey(policy, subject));
    for (const each of keys) this.#local.forget(each);
    await this.context.connection.run({
      name: 'rate-limit.reset',
      effect: 'idempotent',
      key: keys[0]!,
      send: (client) => client.del(...keys),
    });
  }

  /** The decision on charges that are known to be valid and of different policies. @internal */
  decide(
    charges: readonly Charge[],
    subject: string,
    signal?: AbortSignal,
    mode: Mode = 'take',
  ): Promise<RateLimitResult> {
    const keys = charges.map(({ policy }) => this.#stateKey(policy, subject));
    const args: [Mode, ...(string | number)[]] = [mode];
    for (const { policy, cost } of charges) {
      const extra = policy.algorithm === 'sliding-window' ? policy.buckets : policy.align;
      args.push(policy.algorithm, policy.limit, policy.window, cost, extra);
    }
    const options: ScriptCallOptions<number[]> = {
      deadline: this.options.deadline,
      effect: mode === 'peek' ? 'read' : consumeScript.effect,
      ...(signal === undefined ? undefined : { signal }),
    };
    // Not `await`: each one would put off the answer by some turns of the microtask queue.
    return runScript(this.context.connection, consumeScript, keys, args, options).then(
      (reply) => {
        this.#storeFails = false;
        return fromReply(charges, reply, mode);
      },
      (error: unknown) => {
        signal?.throwIfAborted();
        if (!(error instanceof RedisUnavailableError)) throw error;
        return this.#withoutStore(charges, keys, mode, error);
      },
    );
  }

  #decideNamed(
    policies: PolicyReference | readonly PolicyReference[],
    key: Key,
    { cost, signal }: ConsumeOptions,
    mode: Mode,
  ): Promise<RateLimitResult> {
    try {
      const charges = this.#charges(
        policies,
        cost,
        mode === 'take' ? 'RateLimitService.consume' : 'RateLimitService.peek',
      );
      return this.decide(charges, subjectText(key), signal, mode);
    } catch (error) {
      return Promise.reject(error as Error);
    }
  }

  #withoutStore(charges: readonly Charge[], keys: readonly string[], mode: Mode, cause: Error): RateLimitResult {
    this.#warn();
    const choice = (policy: ResolvedPolicy): OnStoreError => policy.onStoreError ?? this.options.onStoreError;
    const closed = charges.find(({ policy }) => choice(policy) === 'closed');
    if (closed !== undefined) throw new RateLimitUnavailableError(closed.policy.name, cause);
    const counted = charges
      .map((charge, index) => ({ ...charge, key: keys[index]! }))
      .filter(({ policy }) => choice(policy) === 'local');
    const standings = this.#local.decide(counted, mode === 'take');
    const results = charges.map(({ policy }) => {
      const at = counted.findIndex((each) => each.policy === policy);
      return toPolicyResult(policy, standings[at] ?? { wait: 0, remaining: policy.limit, reset: 0 });
    });
    return toResult(results, { at: undefined, charged: 0, source: counted.length > 0 ? 'local' : 'open' });
  }

  /** Once for each time that Redis is away: what each call could tell is in the telemetry of the connection. */
  #warn(): void {
    if (this.#storeFails) return;
    this.#storeFails = true;
    this.context.telemetry.emit('warning', {
      pattern: 'RateLimit',
      code: 'ERR_RATE_LIMIT_UNAVAILABLE',
      message: `Redis does not decide on rate limits within ${this.options.deadline} ms; until it does, 'onStoreError' decides.`,
    });
  }

  /** Tells the application's log, once for each topic. @internal */
  warnOnce(topic: string, message: string): void {
    if (this.#warned.has(topic)) return;
    this.#warned.add(topic);
    this.context.telemetry.emit('warning', { pattern: 'RateLimit', code: 'ERR_RATE_LIMIT_SUBJECT', message });
  }

  #charges(
    policies: PolicyReference | readonly PolicyReference[],
    cost: number | undefined,
    where: string,
  ): readonly Charge[] {
    if (cost !== undefined) checkCost(cost, where);
    const references = Array.isArray(policies)
      ? (policies as readonly PolicyReference[])
      : [policies as PolicyReference];
    const charges = references.map((reference): Charge => {
      const policy = this.policies.find(reference, where);
      return { policy, cost: cost ?? policy.cost };
    });
    checkDistinct(
      charges.map(({ policy }) => policy),
      where,
    );
    return charges;
  }

  #stateKey({ name }: ResolvedPolicy, subject: string): string {
    return this.context.keys.tagged('ratelimit', name, subject);
  }
}

function fromReply(charges: readonly Charge[], reply: readonly number[], mode: Mode): RateLimitResult {
  const results = charges.map(({ policy }, index) => {
    const at = 2 + index * FIELDS;
    return toPolicyResult(policy, { wait: reply[at]!, remaining: reply[at + 1]!, reset: reply[at + 2]! });
  });
  const taken = mode === 'take' && reply[0] === 1;
  return toResult(results, {
    at: reply[1]!,
    charged: taken ? Math.max(...charges.map(({ cost }) => cost)) : 0,
    source: 'redis',
  });
}
