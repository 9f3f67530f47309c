import { closest } from '../core/options.js';
import { InvalidOptionsError } from '../core/errors.js';
import type { DefinedPolicy, Policy, ResolvedPolicy } from './policy.js';
import { resolveDefinedPolicy, resolvePolicy } from './policy.schema.js';

/** A policy by its name in the module's `policies`, or with its name. */
export type PolicyReference = string | DefinedPolicy;

interface Claim {
  readonly policy: ResolvedPolicy;
  readonly where: string;
  readonly site: object | undefined;
}

/** The policies of one application. */
export class PolicyBook {
  /** Definitions are parsed once, however often they are used. */
  readonly #parsed = new WeakMap<object, ResolvedPolicy>();
  readonly #claims = new Map<string, Claim>();

  constructor(private readonly named: ReadonlyMap<string, ResolvedPolicy>) {
    for (const policy of named.values()) this.claim(policy, 'rateLimit.policies');
  }

  /** Names that are known so far: those of the module, and those that decorators have claimed. */
  get names(): readonly string[] {
    return [...this.#claims.keys()];
  }

  /**
   * @throws InvalidOptionsError for an unknown name, or a definition that cannot work
   */
  find(reference: PolicyReference, where: string): ResolvedPolicy {
    if (typeof reference === 'string') return this.named.get(reference) ?? this.#unknown(reference, where);
    const parsed = typeof reference === 'object' ? this.#parsed.get(reference) : undefined;
    if (parsed !== undefined) return parsed;
    const policy = resolveDefinedPolicy(reference, where);
    // What the caller may still change must be looked at again.
    if (Object.isFrozen(reference)) this.#parsed.set(reference, policy);
    return policy;
  }

  /**
   * A policy that a decorator names, defines or holds itself; the latter has the name of the place.
   *
   * @param site the class that the decorator is on: two classes of one name do not share a policy by accident
   * @throws InvalidOptionsError also when another policy has the same name
   */
  declare(given: PolicyReference | Policy, place: string, where: string, site: object): ResolvedPolicy {
    if (typeof given === 'object' && given !== null && !('name' in given)) {
      const policy = resolvePolicy(place, given, where);
      this.claim(policy, where, site);
      return policy;
    }
    const policy = this.find(given as PolicyReference, where);
    this.claim(policy, where);
    return policy;
  }

  /** @throws InvalidOptionsError when no policy of that name is known */
  checkName(name: unknown, where: string): void {
    if (typeof name !== 'string') {
      throw new InvalidOptionsError(where, [{ path: 'policies', message: 'must be names of policies' }]);
    }
    if (!this.#claims.has(name)) this.#unknown(name, where);
  }

  /** @throws InvalidOptionsError when another policy has the same name */
  claim(policy: ResolvedPolicy, where: string, site?: object): void {
    const other = this.#claims.get(policy.name);
    if (other === undefined) {
      this.#claims.set(policy.name, { policy, where, site });
      return;
    }
    if (other.site === site && sameLimit(other.policy, policy)) return;
    const message = `is another policy in ${other.where}; what has one name is counted together, so rename one of them`;
    throw new InvalidOptionsError(where, [{ path: `policy '${policy.name}'`, message }]);
  }

  #unknown(name: string, where: string): never {
    const known = [...new Set([...this.named.keys(), ...this.#claims.keys()])];
    const guess = closest(name, known);
    const list = known.length === 0 ? 'none is defined' : `defined are ${known.join(', ')}`;
    const hint = guess === undefined ? `${list}; add it to rateLimit.policies` : `did you mean '${guess}'?`;
    throw new InvalidOptionsError(where, [{ path: `policy '${name}'`, message: `is not defined; ${hint}` }]);
  }
}

function sameLimit(a: ResolvedPolicy, b: ResolvedPolicy): boolean {
  return (
    a === b || (a.by === b.by && a.resolve === b.resolve && JSON.stringify(inOrder(a)) === JSON.stringify(inOrder(b)))
  );
}

function inOrder(policy: ResolvedPolicy): unknown[] {
  return Object.entries(policy).toSorted(([a], [b]) => (a < b ? -1 : 1));
}
