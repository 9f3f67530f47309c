import { backoffDelay, sleep } from '../../core/index.js';
import { HeldLease } from '../held-lease.js';
import type { LeaseCall, Leases } from '../leases.js';
import type { Resource } from '../resource.js';
import { LeaderTerm } from './leader-term.js';

/** What a campaign tells: `elected` at the begin of a term, `revoked` at its end, in turns. */
export type CampaignEvent = 'elected' | 'revoked';

/** Is told of the term that begins, or has ended. */
export type CampaignListener = (term: LeaderTerm) => void;

/** What a campaign needs. */
export interface CampaignSetup {
  readonly leases: Leases;
  /** The lock whose holder leads. */
  readonly resource: Resource;
  readonly call: Omit<LeaseCall, 'signal'>;
  /** Tells of what went wrong where no caller could be told. */
  readonly onError: (message: string, error: unknown) => void;
}

/** After a failure: within a second, not all candidates at once. */
const PAUSE = { base: 100, max: 1000 };

/**
 * A candidate for the lead of a name, until it resigns: it is elected when nobody leads, and again after it has lost the lead.
 *
 * @example
 * ```ts
 * const campaign = this.leaders.campaign('scheduler', { lease: '15s' });
 * campaign.on('elected', (term) => void this.schedule(term.signal, term.fence));
 * ```
 */
export class Campaign {
  readonly #listeners = { elected: new Set<CampaignListener>(), revoked: new Set<CampaignListener>() };
  readonly #resigning = new AbortController();
  #term: LeaderTerm | undefined;
  /** @internal Resolves when it has resigned. */
  readonly over: Promise<void>;

  /** @internal */
  constructor(private readonly setup: CampaignSetup) {
    this.over = this.#run();
  }

  /** Key of the lead in Redis. */
  get key(): string {
    return this.setup.resource.key;
  }

  /** Whether this candidate leads now. Reads the clock and asks nobody: ends a fifth of the lease before anybody else can. */
  get isLeader(): boolean {
    return this.#term?.isCurrent === true;
  }

  /** The term of this candidate while it leads: its `signal` and its `fence` belong together. */
  get term(): LeaderTerm | undefined {
    return this.isLeader ? this.#term : undefined;
  }

  /**
   * Listens. `revoked` always comes before the next `elected`. Who listens to `elected` while this candidate leads is told at once.
   *
   * @returns stops listening
   */
  on(event: CampaignEvent, listener: CampaignListener): () => void {
    this.#listeners[event].add(listener);
    const { term } = this;
    if (event === 'elected' && term !== undefined) this.#tell(listener, term);
    return () => void this.#listeners[event].delete(listener);
  }

  /** Gives up the lead and the candidacy; the next candidate is elected at once. Idempotent. */
  resign(): Promise<void> {
    const reason = new Error('The candidate has resigned');
    this.#resigning.abort(reason);
    this.#term?.end(reason);
    return this.over;
  }

  /** For `await using`: {@link resign}. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.resign();
  }

  async #run(): Promise<void> {
    const { signal } = this.#resigning;
    // Nobody can listen before the constructor has returned.
    await Promise.resolve();
    for (let failures = 0; !signal.aborted;) {
      try {
        const taken = await this.setup.leases.take(this.setup.resource, { ...this.setup.call, signal });
        failures = 0;
        if (taken instanceof HeldLease) await this.#lead(taken);
      } catch (error) {
        if (signal.aborted) return;
        this.setup.onError('A candidate could not ask for the lead; it goes on asking', error);
        await sleep(Math.max(20, backoffDelay(++failures, PAUSE)), signal).catch(() => undefined);
      }
    }
  }

  async #lead(held: HeldLease): Promise<void> {
    const term = new LeaderTerm(held);
    if (this.#resigning.signal.aborted) term.end(this.#resigning.signal.reason as Error);
    else {
      this.#term = term;
      this.#tellAll('elected', term);
      await term.ended();
      this.#term = undefined;
      this.#tellAll('revoked', term);
    }
    await this.setup.leases.quietly(held.release());
  }

  #tellAll(event: CampaignEvent, term: LeaderTerm): void {
    for (const listener of this.#listeners[event]) this.#tell(listener, term);
  }

  /** A listener that throws must end neither the term nor the candidacy. */
  #tell(listener: CampaignListener, term: LeaderTerm): void {
    try {
      listener(term);
    } catch (error) {
      this.setup.onError('A listener of a campaign has thrown', error);
    }
  }
}
