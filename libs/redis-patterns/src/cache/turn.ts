import { sleep } from '../core/abort.js';
import { Deadline } from '../core/deadline.js';

import { idOf } from './entry.js';
import type { EntryReader, FoundValue } from './entry-reader.js';
import type { EntryStore } from './entry-store.js';
import type { Flight } from './flights.js';
import type { CacheLoadFailure } from './load-failure.js';
import type { LoadRequest } from './loader.js';
import { isRedisFailure, mayHaveRun } from './redis-failure.js';

/** The right to store, and what was known before the factory began. */
export interface Ownership {
  readonly kind: 'owner';
  /** Of the lease. */
  readonly token: string;
  /** There is an entry that was not there when the caller looked: perhaps a stale copy. */
  readonly unseen: boolean;
  /** Those of the policy's tags. */
  readonly tagTokens: readonly string[];
  /** The generations of all tags; `''` for a load that does not need them. */
  readonly generations: string;
}

/**
 * In which part a process loads: as the owner of the lease, who stores; as a guest, who does not; or without Redis. Or there
 * is a value after all: a fresh one, or a stale copy that others are refreshing; or an error that is remembered.
 */
export type Turn =
  | Ownership
  | { readonly kind: 'guest' | 'offline' }
  | { readonly kind: 'found'; readonly found: FoundValue; readonly covers: number }
  | { readonly kind: 'failed'; readonly failure: CacheLoadFailure; readonly covers: number };

const FIRST_POLL = 20;
const LONGEST_POLL = 100;
/** Entries that cannot be used, one after the other, until a load gives up to replace them. */
const MAX_UNUSABLE = 3;

/** Decides who loads: asks Redis for the lease of an entry. */
export class Turns {
  constructor(
    private readonly store: EntryStore,
    private readonly reader: EntryReader,
    /** Milliseconds. */
    private readonly operationTimeout: number,
  ) {}

  /** Asks until there is the lease, or a value; while another process loads at most `wait`. */
  async take(request: LoadRequest, flight: Flight): Promise<Turn> {
    const { entryKey, policy, budget } = request;
    const { stampede, wait } = policy.options;
    let { seenId } = request;
    let patience: Deadline | undefined;
    let unusable = 0;
    for (let polls = 0; ;) {
      const covers = flight.nextRound();
      const asked = await this.#ask(request, seenId);
      if (asked === undefined) return { kind: 'offline' };
      const { reply, token, tagTokens, generations } = asked;
      const [state, text, pttl] = reply;
      const unseen = text !== null && idOf(text) !== seenId;
      if (state === 1) return { kind: 'owner', token, tagTokens, generations, unseen };
      const raw = { text, pttl, tokens: tagTokens };
      const found = await this.reader.settle(entryKey, raw, { tags: policy.tags, pttl: true }, budget);
      if (found.state === 'offline') return { kind: 'offline' };
      if (found.state !== 'miss') return { kind: 'found', found, covers };
      const failure = policy.rememberedIn(found);
      if (failure !== undefined) return { kind: 'failed', failure, covers };
      if (state === 0) {
        if (++unusable === MAX_UNUSABLE) return { kind: 'guest' };
        seenId = found.seenId;
        continue;
      }
      if (state !== 2 || stampede !== 'distributed') return { kind: 'guest' };
      patience ??= Deadline.after(wait);
      if (patience.expired) return { kind: 'guest' };
      request.onWait?.();
      await sleep(Math.min(patience.remaining(), pollDelay(polls++)), flight.signal);
      budget.refill();
    }
  }

  /** Asks for the lease, and for what must be known before the factory begins, in one round trip. */
  async #ask({ entryKey, policy, budget }: LoadRequest, seenId: string) {
    const { lease, maxHold } = policy.options;
    const token = this.store.newToken();
    // Given up, it may still take the lease: nobody would store with it, and others would wait for it.
    const onLate = (): void => this.giveUp(entryKey, token, 0);
    const leaseMs = Math.min(lease, maxHold);
    const bare = policy.tags.length === 0 && policy.resultTags === undefined;
    const sentAt = performance.now();
    const { deadline } = budget;
    try {
      const begun = this.store.begin(entryKey, token, leaseMs, seenId, { deadline, onLate });
      if (bare) return { token, reply: await begun, tagTokens: [], generations: '' };
      const [reply, tagTokens, generations] = await Promise.allSettled([
        begun,
        this.store.tags.take(policy.tags, { deadline }),
        policy.resultTags === undefined ? '' : this.store.tags.generations({ deadline }),
      ]);
      return { token, reply: valueOf(reply), tagTokens: valueOf(tagTokens), generations: valueOf(generations) };
    } catch (error) {
      if (!isRedisFailure(error)) throw error;
      // With tags the lease may have been taken although something else has failed.
      if (mayHaveRun(error) || !bare) this.giveUp(entryKey, token, 0);
      return undefined;
    } finally {
      budget.charge(sentAt);
    }
  }

  /** In the background: it only spares others a wait, or a refresh that would fail. */
  giveUp(entryKey: string, token: string, backoffMs: number): void {
    this.store.abort(entryKey, token, backoffMs, { deadline: this.operationTimeout }).catch(() => {});
  }
}

function valueOf<T>(result: PromiseSettledResult<T>): T {
  if (result.status === 'rejected') throw result.reason;
  return result.value;
}

function pollDelay(polls: number): number {
  return Math.min(LONGEST_POLL, FIRST_POLL * 2 ** Math.min(polls, 8)) * (0.5 + Math.random() / 2);
}
