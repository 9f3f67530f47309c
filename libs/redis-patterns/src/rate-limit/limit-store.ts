import type { EngineContext } from '../connection/index.js';
import { slotOf } from '../keys/index.js';
import { sendScript, type Script, type ScriptCallOptions } from '../scripting/index.js';
import type { Charge } from './charges.js';
import type { ResolvedPolicy } from './policy.js';
import { blockScript, consumeScript, leaseScript, refundScript } from './scripts.generated.js';

/** A charge with the key of its state. */
export interface Ticket extends Charge {
  readonly key: string;
}

/** `some` takes what is there, up to the cost. */
export type Mode = 'take' | 'some' | 'peek';

/** Milliseconds, and who may end the wait. */
type CallLimits = Pick<ScriptCallOptions<unknown>, 'deadline' | 'signal'>;

/** What a decision needs to say beside its tickets. */
export interface ConsumeCall extends CallLimits {
  /** Of the leases that it takes. */
  readonly leaseId?: string | undefined;
  readonly onLate?: ((reply: readonly number[]) => void) | undefined;
}

/** A policy as the script takes it. */
type Terms = Readonly<Record<'algorithm' | 'limit' | 'window' | 'needs' | 'block', string>>;

/** What the rate limits of one application say to Redis. */
export class LimitStore {
  readonly #inSlots: boolean;
  readonly #terms = new WeakMap<ResolvedPolicy, Terms>();

  constructor(private readonly context: EngineContext) {
    this.#inSlots = context.connection.mode === 'cluster';
  }

  ticket({ policy, cost, subject }: Charge): Ticket {
    return { policy, cost, subject, key: this.context.keys.tagged('ratelimit', policy.name, subject) };
  }

  /** The tickets by the script that they fit into: in a Cluster one for each hash slot, else a single one. */
  bySlot(tickets: readonly Ticket[]): readonly (readonly Ticket[])[] {
    if (!this.#inSlots || tickets.every(({ subject }) => subject === tickets[0]!.subject)) return [tickets];
    const slots = new Map<number, Ticket[]>();
    for (const ticket of tickets) {
      const slot = slotOf(ticket.key);
      const others = slots.get(slot);
      if (others === undefined) slots.set(slot, [ticket]);
      else others.push(ticket);
    }
    return [...slots.values()];
  }

  /** Tickets of one slot, those that only watch last; the reply is that of the script. On the hot path: nothing is copied. */
  consume(tickets: readonly Ticket[], mode: Mode, call: ConsumeCall): Promise<number[]> {
    const keys: string[] = [];
    const args: [Mode, number, ...(string | number)[]] = [mode, 0];
    let deciding = 0;
    let leases = 0;
    for (const { policy, cost, key } of tickets) {
      keys.push(key, this.#blockKey(key));
      const { algorithm, limit, window, needs, block } = this.#termsOf(policy);
      args.push(
        algorithm,
        limit,
        window,
        cost,
        call.leaseId !== undefined && isLease(policy) ? call.leaseId : needs,
        block,
      );
      if (!policy.shadow) deciding++;
      if (isLease(policy)) leases++;
    }
    args[1] = deciding;
    return this.context.connection.run({
      name: consumeScript.name,
      // A lease is known by its id: asked for twice, it is there once.
      effect: mode === 'peek' ? 'read' : leases === tickets.length ? 'token' : consumeScript.effect,
      key: keys[0]!,
      deadline: call.deadline,
      signal: call.signal,
      onLate: call.onLate,
      send: (client) => sendScript(client, consumeScript, keys, args),
    });
  }

  /** @param at server time of the charge, microseconds */
  async refund(tickets: readonly Ticket[], at: number | undefined, call: CallLimits = {}): Promise<void> {
    const args: [number, ...(string | number)[]] = [at ?? 0];
    for (const { policy, cost } of tickets) {
      args.push(policy.algorithm, policy.limit, policy.window, cost, needsOf(policy));
    }
    await this.#run(refundScript, keysOf(tickets), args, call);
  }

  async block(tickets: readonly Ticket[], ms: number): Promise<void> {
    await this.#run(blockScript, this.#blockKeys(tickets), [ms], {});
  }

  unblock(tickets: readonly Ticket[]): Promise<void> {
    return this.#delete('rate-limit.unblock', this.#blockKeys(tickets));
  }

  reset(tickets: readonly Ticket[]): Promise<void> {
    return this.#delete('rate-limit.reset', [...keysOf(tickets), ...this.#blockKeys(tickets)]);
  }

  /** Whether the lease was held until now. */
  async lease(action: 'extend' | 'release', ticket: Ticket, id: string, call: CallLimits = {}): Promise<boolean> {
    const { key, cost, policy } = ticket;
    return (await this.#run(leaseScript, [key], [action, id, cost, policy.window], { ...call, wait: true })) === 1;
  }

  /** Not `runScript`: where slots do not matter, the keys may be of several. */
  #run<Keys extends readonly string[], Args extends readonly (string | number)[], Reply>(
    script: Script<Keys, Args, Reply>,
    keys: Keys,
    args: Args,
    { effect = script.effect, ...call }: ScriptCallOptions<Reply>,
  ): Promise<Reply> {
    return this.context.connection.run({
      name: script.name,
      effect,
      key: keys[0]!,
      ...call,
      send: (client) => sendScript(client, script, keys, args),
    });
  }

  /** Texts, as the client would make them of numbers in each call. */
  #termsOf(policy: ResolvedPolicy): Terms {
    const known = this.#terms.get(policy);
    if (known !== undefined) return known;
    const { algorithm, limit, window, block } = policy;
    const terms: Terms = {
      algorithm,
      limit: String(limit),
      window: String(window),
      needs: String(needsOf(policy)),
      block: block === undefined ? '0' : `${block.for}:${block.escalate}:${block.max}`,
    };
    this.#terms.set(policy, terms);
    return terms;
  }

  async #delete(name: string, keys: readonly string[]): Promise<void> {
    await this.context.connection.run({
      name,
      effect: 'idempotent',
      key: keys[0]!,
      send: (client) => client.del(...keys),
    });
  }

  #blockKeys(tickets: readonly Ticket[]): string[] {
    return tickets.map(({ key }) => this.#blockKey(key));
  }

  #blockKey(key: string): string {
    return this.context.keys.companion('ratelimit', 'block', key);
  }
}

function keysOf(tickets: readonly Ticket[]): string[] {
  return tickets.map(({ key }) => key);
}

/** What the algorithm needs beside limit and window. */
function needsOf({ algorithm, buckets, burst, align }: ResolvedPolicy): string | number {
  if (algorithm === 'sliding-window') return buckets;
  return algorithm === 'token-bucket' ? burst : align;
}

function isLease({ algorithm }: ResolvedPolicy): boolean {
  return algorithm === 'concurrency';
}
