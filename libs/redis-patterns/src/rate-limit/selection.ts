import type { Charge } from './charges.js';
import { overridePolicy } from './policy.schema.js';
import type { PolicyOverrides, RequestContext, ResolvedPolicy } from './policy.js';
import type { ResolvedRateLimitOptions } from './rate-limit.options.js';

/** What is known of a call beside its charges. */
export interface CallFacts {
  readonly address?: string | undefined;
  readonly request?: RequestContext | undefined;
  readonly args?: readonly unknown[] | undefined;
}

/** A charge that a `deny` list refuses. */
export interface Denial {
  readonly charge: Charge;
  readonly status: 429 | 403;
}

/** Overrides that are remembered for each policy: plans are few. */
const MOST_OVERRIDES = 1000;

/** Which charges of a call count, and with which limits: `allow`, `deny` and `resolve`, before Redis is asked. */
export class Selection {
  readonly #overridden = new WeakMap<ResolvedPolicy, Map<string, ResolvedPolicy>>();
  readonly #hasLists: boolean;

  constructor(private readonly options: Pick<ResolvedRateLimitOptions, 'allow' | 'deny' | 'denyStatus'>) {
    this.#hasLists = options.allow !== undefined || options.deny !== undefined;
  }

  /** Whether these charges count as they are. */
  isPlain(charges: readonly Charge[]): boolean {
    if (this.#hasLists) return false;
    for (const { policy } of charges) {
      if (policy.allow !== undefined || policy.deny !== undefined || policy.resolve !== undefined) return false;
    }
    return true;
  }

  denial(charges: readonly Charge[], { address }: CallFacts): Denial | undefined {
    const { deny, denyStatus } = this.options;
    for (const charge of charges) {
      const { policy, subject } = charge;
      if (policy.deny?.has(subject, address) === true && !policy.shadow) {
        return { charge, status: policy.denyStatus ?? denyStatus };
      }
      if (deny?.has(subject, address) === true) return { charge, status: denyStatus };
    }
    return undefined;
  }

  /** The charges that are left, with the limits of their subjects. */
  async select(charges: readonly Charge[], facts: CallFacts): Promise<Charge[]> {
    const counted = charges.filter(
      ({ policy, subject }) =>
        this.options.allow?.has(subject, facts.address) !== true && policy.allow?.has(subject, facts.address) !== true,
    );
    const resolved = await Promise.all(counted.map((charge) => this.#resolve(charge, facts)));
    return resolved.filter((charge) => charge !== undefined);
  }

  async #resolve(charge: Charge, { request, args }: CallFacts): Promise<Charge | undefined> {
    const { policy, subject } = charge;
    if (policy.resolve === undefined) return charge;
    const given = await policy.resolve({
      policy: policy.name,
      subject,
      ...(request === undefined ? {} : { request }),
      ...(args === undefined ? {} : { args }),
    });
    return given === null ? undefined : { ...charge, policy: this.#override(policy, given) };
  }

  /** The same object for the same values, so that what is remembered of it stays true. */
  #override(policy: ResolvedPolicy, given: PolicyOverrides): ResolvedPolicy {
    let known = this.#overridden.get(policy);
    if (known === undefined) this.#overridden.set(policy, (known = new Map()));
    const text = JSON.stringify(given) ?? '';
    const found = known.get(text);
    if (found !== undefined) return found;
    const overridden = overridePolicy(policy, given);
    if (known.size >= MOST_OVERRIDES) known.clear();
    known.set(text, overridden);
    return overridden;
  }
}
