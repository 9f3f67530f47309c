import { RedisUnavailableError, type EngineContext } from '../connection/index.js';
import { InvalidOptionsError } from '../core/errors.js';
import { BlockCache } from './block-cache.js';
import type { Charge } from './charges.js';
import { LimitStore, type Mode, type Ticket } from './limit-store.js';
import { LocalLimiter } from './local-limiter.js';
import type { OnStoreError, ResolvedPolicy } from './policy.js';
import { RateLimitUnavailableError } from './rate-limit.errors.js';
import type { ResolvedRateLimitOptions } from './rate-limit.options.js';
import {
  deniedResult,
  toPolicyResult,
  toResult,
  uncountedResult,
  type PolicyResult,
  type RateLimitResult,
} from './rate-limit.result.js';
import { Receipts } from './receipts.js';
import { Selection, type CallFacts } from './selection.js';
import { decideAcross, type SlotAnswer } from './slots.js';
import type { PatternTracer } from '../telemetry/index.js';
import { StoreFailureReporter } from './store-failure.js';
import { traceDecision } from './traced-decision.js';

/** What a decision may need beside its charges. */
export interface DecideOptions extends CallFacts {
  /** Default `'take'`. */
  readonly mode?: Mode;
  readonly signal?: AbortSignal | undefined;
  /** Of the leases that are taken. */
  readonly leaseId?: string | undefined;
  /** Called when leases were taken after the decision had been made without. */
  readonly onLate?: (() => void) | undefined;
}

/** Decides on charges: by lists, by refusals that still hold, by Redis, and without it when it does not answer in time. */
export class Decider {
  readonly store: LimitStore;
  readonly local: LocalLimiter;
  readonly receipts = new Receipts();
  readonly #selection: Selection;
  readonly #cache: BlockCache | undefined;
  readonly #failure: StoreFailureReporter;
  readonly #tracer: PatternTracer;

  constructor(
    context: EngineContext,
    private readonly options: ResolvedRateLimitOptions,
  ) {
    this.#tracer = context.telemetry.tracer('ratelimit', context.connection.name);
    this.store = new LimitStore(context);
    this.local = new LocalLimiter(options.localShare);
    this.#selection = new Selection(options);
    this.#cache = options.blockCache === false ? undefined : new BlockCache(options.blockCache);
    this.#failure = new StoreFailureReporter(
      context.telemetry,
      'RateLimit',
      `Redis does not decide on rate limits within ${options.deadline} ms; until it does, 'onStoreError' decides.`,
    );
  }

  /**
   * The decision on charges that are known to be valid and of different policies.
   *
   * @throws InvalidOptionsError for leases without an id, and for what `resolve` gives
   * @throws RateLimitUnavailableError, RedisCommandError as `RateLimitService.consume`
   */
  decide(charges: readonly Charge[], options: DecideOptions = {}): Promise<RateLimitResult> {
    if (!this.#tracer.active) return this.#decide(charges, options);
    return traceDecision(this.#tracer, charges, options.mode, () => this.#decide(charges, options));
  }

  #decide(charges: readonly Charge[], options: DecideOptions): Promise<RateLimitResult> {
    return this.#selection.isPlain(charges) ? this.#ask(charges, options) : this.#askSelected(charges, options);
  }

  /** Forgets what this process knows of refusals, as there may be room now. */
  forgetRefusals(tickets: readonly Ticket[]): void {
    for (const { policy, subject } of tickets) this.#cache?.forget(policy.name, subject);
  }

  /** Gives back what a decision took for these charges, leases apart: once, however often it is asked for. Never rejects. */
  async refund(charges: readonly Charge[], result: RateLimitResult): Promise<void> {
    if (!result.allowed || !this.receipts.claimRefund(result)) return;
    const given = charges.map((charge) => this.store.ticket(charge));
    const refunds = this.receipts.of(result, given).map(async ({ tickets, at }) => {
      const isGiven = ({ key }: Ticket): boolean => given.some((each) => each.key === key);
      const counted = tickets.filter((ticket) => ticket.policy.algorithm !== 'concurrency' && isGiven(ticket));
      if (result.source === 'local') counted.forEach((ticket) => this.local.refund(ticket));
      if (result.source === 'redis' && counted.length > 0) await this.store.refund(counted, at);
      this.forgetRefusals(counted);
    });
    await Promise.allSettled(refunds);
  }

  async #askSelected(charges: readonly Charge[], options: DecideOptions): Promise<RateLimitResult> {
    const denial = this.#selection.denial(charges, options);
    if (denial !== undefined) return deniedResult(denial.charge.policy, denial.status);
    const counted = await this.#selection.select(charges, options);
    if (counted.length === 0) return uncountedResult(charges[0]!.policy);
    const result = await this.#ask(counted, options);
    this.receipts.charged(result, this.#tickets(counted));
    return result;
  }

  #ask(charges: readonly Charge[], options: DecideOptions): Promise<RateLimitResult> {
    const { mode = 'take', signal, leaseId } = options;
    if (mode !== 'peek') {
      if (leaseId === undefined) {
        for (const { policy } of charges) if (policy.algorithm === 'concurrency') return noLease(policy);
      }
      const cached = this.#refusedBefore(charges, mode);
      if (cached !== undefined) return Promise.resolve(cached);
    }
    const tickets = this.#tickets(charges);
    const call = { deadline: this.options.deadline, signal, leaseId, onLate: undefined as undefined | LateReply };
    if (options.onLate !== undefined) call.onLate = (reply) => void (reply[0] !== 0 && options.onLate!());
    const slots = this.store.bySlot(tickets);
    const failed = (error: unknown): RateLimitResult => {
      signal?.throwIfAborted();
      if (!(error instanceof RedisUnavailableError)) throw error;
      return this.#withoutStore(tickets, mode, error);
    };
    return slots.length === 1
      ? this.store.consume(tickets, mode, call).then((reply) => this.#decided(tickets, reply, mode), failed)
      : decideAcross(this.store, slots, mode, call).then((all) => this.#decidedAcross(tickets, all, mode), failed);
  }

  #tickets(charges: readonly Charge[]): Ticket[] {
    const tickets: Ticket[] = [];
    let watching = false;
    for (const charge of charges) {
      if (charge.policy.shadow) watching = true;
      tickets.push(this.store.ticket(charge));
    }
    return watching ? tickets.sort((a, b) => Number(a.policy.shadow) - Number(b.policy.shadow)) : tickets;
  }

  #refusedBefore(charges: readonly Charge[], mode: Mode): RateLimitResult | undefined {
    const cache = this.#cache;
    if (cache === undefined || cache.size === 0) return undefined;
    let known: PolicyResult[] | undefined;
    for (const charge of charges) {
      const { policy } = charge;
      const standing = policy.shadow ? undefined : cache.find(charge, refusedCost(charge, mode));
      if (standing !== undefined) (known ??= []).push(toPolicyResult(policy, standing));
    }
    return known === undefined ? undefined : toResult(known, { at: undefined, charged: 0, source: 'cache' });
  }

  #decided(tickets: readonly Ticket[], reply: readonly number[], mode: Mode): RateLimitResult {
    this.#failure.over();
    const results = [];
    for (let index = 0; index < tickets.length; index++) results.push(this.#read(tickets, index, reply, mode));
    const charged = mode === 'peek' ? 0 : unitsOf(tickets, reply, mode);
    const result = toResult(results, { at: reply[1]!, charged, source: 'redis' });
    if (mode === 'some')
      this.receipts.charged(
        result,
        tickets.map((ticket) => capped(ticket, charged)),
      );
    return result;
  }

  #decidedAcross(tickets: readonly Ticket[], answers: readonly SlotAnswer[], mode: Mode): RateLimitResult {
    this.#failure.over();
    const results = tickets.flatMap((ticket) => {
      const answer = answers.find((each) => each.tickets.includes(ticket));
      return answer === undefined
        ? []
        : [this.#read(answer.tickets, answer.tickets.indexOf(ticket), answer.reply, mode)];
    });
    const allowed = mode !== 'peek' && answers.every(({ reply }) => reply[0]! > 0);
    const charged = allowed ? unitsOf(tickets, [1], mode) : 0;
    const result = toResult(results, { at: answers[0]!.reply[1]!, charged, source: 'redis' });
    if (allowed) this.receipts.chargedAcross(result, answers);
    return result;
  }

  #read(tickets: readonly Ticket[], index: number, reply: readonly number[], mode: Mode) {
    const ticket = tickets[index]!;
    const at = 2 + index * 3;
    const standing = { wait: reply[at]!, remaining: reply[at + 1]!, reset: reply[at + 2]! };
    if (standing.wait !== 0 && mode !== 'peek' && !ticket.policy.shadow) {
      this.#cache?.store(ticket, refusedCost(ticket, mode), standing);
    }
    return toPolicyResult(ticket.policy, standing);
  }

  #withoutStore(tickets: readonly Ticket[], mode: Mode, cause: Error): RateLimitResult {
    this.#failure.report();
    const choice = ({ policy }: Ticket): OnStoreError =>
      policy.shadow ? 'open' : (policy.onStoreError ?? this.options.onStoreError);
    const closed = tickets.find((ticket) => choice(ticket) === 'closed');
    if (closed !== undefined) throw new RateLimitUnavailableError(closed.policy.name, cause);
    const counted = tickets.filter((ticket) => choice(ticket) === 'local');
    const { standings, units } = this.local.decide(counted, mode);
    const results = tickets.map((ticket) => {
      const standing = standings[counted.indexOf(ticket)];
      return toPolicyResult(ticket.policy, standing ?? { wait: 0, remaining: ticket.policy.burst, reset: 0 });
    });
    const source = counted.length > 0 ? 'local' : 'open';
    const result = toResult(results, { at: undefined, charged: 0, source });
    if (source === 'local' && result.allowed && mode !== 'peek') {
      this.receipts.charged(
        result,
        counted.map((ticket) => capped(ticket, units)),
      );
    }
    return result;
  }
}

type LateReply = (reply: readonly number[]) => void;

function noLease({ name }: ResolvedPolicy): Promise<never> {
  const message = "is a 'concurrency' policy: what it grants has to be given back, so use acquire()";
  return Promise.reject(new InvalidOptionsError('RateLimitService.consume', [{ path: `policy '${name}'`, message }]));
}

/** The cost that a refusal is about. */
function refusedCost({ cost }: Charge, mode: Mode): number {
  return mode === 'some' ? Math.min(1, cost) : cost;
}

/** The most units that were taken from a policy. */
function unitsOf(tickets: readonly Ticket[], reply: readonly number[], mode: Mode): number {
  if (reply[0] === 0 || mode === 'some') return reply[0]!;
  let most = 0;
  for (const { cost, policy } of tickets) if (!policy.shadow && cost > most) most = cost;
  return most;
}

function capped(ticket: Ticket, units: number): Ticket {
  return { ...ticket, cost: Math.min(ticket.cost, units) };
}
