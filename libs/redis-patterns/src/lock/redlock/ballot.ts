import type { Reaper } from '../reaper.js';
import type { AttemptReply, CallLimits, OwnershipReply } from '../resource.js';
import { AbstentionError, type RedlockNode } from './redlock-node.js';

/** `nothing`: it surely left nothing there; `unknown`: it may have been granted, or may still be. */
type Outcome = 'granted' | 'nothing' | 'unknown';

/** What one node was asked for in one attempt, and so what has to be given back there. */
export class Ballot {
  readonly reply: Promise<AttemptReply>;
  readonly #outcome: Promise<Outcome>;
  /** Nobody holds what it was asked for any more. */
  #over = false;

  constructor(
    private readonly node: RedlockNode,
    private readonly reaper: Reaper,
    private readonly token: string,
    private readonly leaseMs: number,
    limits: CallLimits,
  ) {
    // While the lock is held, a grant that comes late is as good as any.
    const onLateGrant = (): void => {
      if (this.#over) this.#reap();
    };
    this.reply = node.attempt(token, '', leaseMs, { ...limits, onLateGrant }).then(({ reply }) => reply);
    this.#outcome = this.reply.then(
      ([granted]) => (granted === 1 ? 'granted' : 'nothing'),
      (error: unknown) => (mayBeGranted(error) ? 'unknown' : 'nothing'),
    );
  }

  /**
   * Gives back what may have been granted, after the answer, so that it cannot overtake the request. What is not confirmed is
   * tried again in the background.
   */
  async leave(limits: CallLimits): Promise<OwnershipReply> {
    this.#over = true;
    const outcome = await this.#outcome;
    if (outcome === 'nothing') return -1;
    if (outcome === 'unknown') this.#reap();
    try {
      return await this.node.leave(this.token, '', limits);
    } catch (error) {
      if (outcome === 'granted') this.#reap();
      throw error;
    }
  }

  #reap(): void {
    const { node, token, leaseMs } = this;
    this.reaper.reap({ resource: node, token, waiter: '', leaseMs, straggler: true });
  }
}

function mayBeGranted(error: unknown): boolean {
  const { outcome } = error as { outcome?: unknown };
  return !(error instanceof AbstentionError) && outcome !== 'not-sent' && outcome !== 'refused';
}
