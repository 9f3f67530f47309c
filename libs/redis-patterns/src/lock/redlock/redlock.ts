import { RedisUnavailableError } from '../../connection/index.js';
import type { Reaper } from '../reaper.js';
import type { Answered, AttemptLimits, AttemptReply, CallLimits, OwnershipReply, Resource } from '../resource.js';
import { Ballot } from './ballot.js';
import type { RedlockNode } from './redlock-node.js';
import { quorumOf, vote, type Vote } from './vote.js';

type Granted = readonly [granted: 1, fence: string];

/**
 * One acquisition of a lock on a quorum of independent nodes (redis.io, "Distributed Locks with Redis"). Every promise of it
 * settles within some `nodeTimeout`: as soon as a quorum agrees, or cannot any more.
 */
export class Redlock implements Resource {
  /** It is polled: nodes that wake different waiters would split their votes. */
  readonly waiterKind = undefined;
  readonly #quorum: number;
  #attempts = 0;
  /** The attempts that won, by the token of their caller: more than one when a grant came too late to be of use. */
  readonly #won = new Map<string, { readonly own: string; readonly ballots: readonly Ballot[] }>();

  constructor(
    readonly key: string,
    private readonly nodes: readonly RedlockNode[],
    private readonly reaper: Reaper,
    /** Milliseconds. */
    private readonly nodeTimeout: number,
  ) {
    this.#quorum = quorumOf(nodes.length);
  }

  async attempt(
    token: string,
    _waiter: string,
    leaseMs: number,
    { deadline, signal }: AttemptLimits,
  ): Promise<Answered<AttemptReply>> {
    const limits = { deadline: Math.min(deadline, this.nodeTimeout), signal };
    // Each attempt has its own, so that the clean-up of one never meets the grants of the next.
    const own = `${token}:${++this.#attempts}`;
    const sentAt = performance.now();
    const ballots = this.nodes.map((node) => new Ballot(node, this.reaper, own, leaseMs, limits));
    try {
      const { yes, no, failures } = await vote(
        ballots.map(({ reply }) => reply),
        isGrant,
      );
      // What each node was asked for is given back or cleaned up by its ballot: nothing is left to the caller.
      if (yes.length < this.#quorum) return { reply: this.#refusal(no, failures), sentAt, repeated: false };
      const fence = await this.#agreeOnFence(yes as readonly Granted[], leaseMs, limits);
      this.#won.set(token, { own, ballots });
      return { reply: [1, fence], sentAt, repeated: false };
    } finally {
      if (this.#won.get(token)?.own !== own) await this.#leave(ballots, { deadline: this.nodeTimeout });
    }
  }

  async extend(token: string, leaseMs: number, { deadline }: CallLimits): Promise<Answered<OwnershipReply>> {
    const limits = { deadline: Math.min(deadline, this.nodeTimeout) };
    const sentAt = performance.now();
    const { own } = this.#won.get(token)!;
    const replies = this.nodes.map((node) => node.extend(own, leaseMs, limits).then(({ reply }) => reply));
    const { yes, no, failures } = await vote(replies, (reply) => reply === 1);
    if (yes.length >= this.#quorum) return { reply: 1, sentAt, repeated: false };
    if (this.nodes.length - no.length >= this.#quorum) throw this.#unavailable('extend', failures);
    return { reply: no.includes(0) ? 0 : -1, sentAt, repeated: false };
  }

  /** @throws RedisUnavailableError when no quorum confirmed */
  async leave(token: string, _waiter: string, { deadline }: CallLimits): Promise<OwnershipReply> {
    // Attempts that failed have left already.
    const won = this.#won.get(token);
    if (won === undefined) return -1;
    const { yes, failures } = await this.#leave(won.ballots, { deadline: Math.min(deadline, this.nodeTimeout) });
    if (yes.length < this.#quorum) throw this.#unavailable('leave', failures);
    if (yes.includes(1)) return 1;
    return yes.includes(0) ? 0 : -1;
  }

  #leave(ballots: readonly Ballot[], limits: CallLimits): Promise<Vote<OwnershipReply>> {
    return vote(
      ballots.map((ballot) => ballot.leave(limits)),
      () => true,
    );
  }

  /**
   * The highest fence, once a quorum knows it: the next quorum has a node in common with that, and so a higher one.
   *
   * @throws RedisUnavailableError
   */
  async #agreeOnFence(grants: readonly Granted[], leaseMs: number, limits: CallLimits): Promise<string> {
    const fences = grants.map(([, fence]) => BigInt(fence));
    const highest = String(fences.reduce((a, b) => (a > b ? a : b)));
    const { yes, failures } = await vote(
      this.nodes.map((node) => node.remember(highest, leaseMs, limits)),
      () => true,
    );
    if (yes.length < this.#quorum) throw this.#unavailable('fence', failures);
    return highest;
  }

  /** @throws RedisUnavailableError when nobody knows: too few have answered to say that somebody else holds it */
  #refusal(no: readonly AttemptReply[], failures: readonly unknown[]): AttemptReply {
    const others = this.nodes.length - no.length;
    if (others >= this.#quorum) throw this.#unavailable('acquire', failures);
    const left = no.map((reply) => (reply[0] === 0 && reply[1] >= 0 ? reply[1] : Infinity)).toSorted((a, b) => a - b);
    const leftMs = left[this.#quorum - others - 1]!;
    return [0, leftMs === Infinity ? -1 : leftMs, -1, 0];
  }

  #unavailable(what: string, failures: readonly unknown[]): RedisUnavailableError {
    const [cause] = failures;
    const text = `no quorum: ${failures.length} of ${this.nodes.length} nodes gave no answer (${String((cause as Error | undefined)?.message)})`;
    return new RedisUnavailableError('ERR_REDIS_NOT_READY', text, {
      // What was granted is left, or will be.
      outcome: 'unknown',
      connection: 'redlock',
      operation: `lock.redlock-${what}`,
      elapsedMs: 0,
      cause,
    });
  }
}

function isGrant(reply: AttemptReply): boolean {
  return reply[0] === 1;
}
