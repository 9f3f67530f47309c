import { randomUUID } from 'node:crypto';

/** How an operation ended, seen by its caller; the outcomes of the connection layer. */
export type Outcome = 'ok' | 'refused' | 'not-sent' | 'unknown';

export interface Verdict {
  /** Acknowledged, but not found afterwards. */
  lost: string[];
  /** Found, although the caller was told that it did not happen (or nobody ever tried it). */
  ghosts: string[];
  /** Found more than once. */
  duplicates: string[];
}

/**
 * What was tried and what the callers were told, to be compared with what is found once the servers are well again.
 *
 * @example
 * const history = new History();
 * await history.attempt((id) => producer.publish('orders', { id }), outcomeOf);
 * expect(history.check(await idsInRedis())).toEqual({ lost: [], ghosts: [], duplicates: [] });
 */
export class History {
  readonly #outcomes = new Map<string, Outcome>();

  /** A new id whose outcome is unknown until `settle` is called. */
  begin(): string {
    const id = randomUUID();
    this.#outcomes.set(id, 'unknown');
    return id;
  }

  settle(id: string, outcome: Outcome): void {
    if (!this.#outcomes.has(id)) throw new Error(`No operation with the id ${id} was begun`);
    this.#outcomes.set(id, outcome);
  }

  /** Runs one operation under a new id; never rejects. `outcomeOf` reads the outcome of a failure. */
  async attempt<T>(operation: (id: string) => Promise<T>, outcomeOf: (error: unknown) => Outcome): Promise<Outcome> {
    const id = this.begin();
    const outcome = await operation(id).then(() => 'ok' as const, outcomeOf);
    this.settle(id, outcome);
    return outcome;
  }

  ids(outcome: Outcome): string[] {
    return [...this.#outcomes].filter(([, each]) => each === outcome).map(([id]) => id);
  }

  /** Compares with the ids that are found now. An unknown outcome allows both, but never twice. */
  check(found: Iterable<string>): Verdict {
    const counts = new Map<string, number>();
    for (const id of found) counts.set(id, (counts.get(id) ?? 0) + 1);
    const possible = (id: string): boolean => ['ok', 'unknown'].includes(this.#outcomes.get(id) ?? 'not-sent');
    return {
      lost: this.ids('ok').filter((id) => !counts.has(id)),
      ghosts: [...counts.keys()].filter((id) => !possible(id)),
      duplicates: [...counts].filter(([, count]) => count > 1).map(([id]) => id),
    };
  }
}

/** A time in which somebody held something, on one clock. */
export interface Hold {
  owner: string;
  from: number;
  to: number;
}

/** The pairs of holds that overlap: empty when never more than one was inside. Touching ends do not overlap. */
export function findOverlaps(holds: readonly Hold[]): [Hold, Hold][] {
  const ordered = holds.toSorted((a, b) => a.from - b.from);
  return ordered.flatMap((earlier, index) =>
    ordered
      .slice(index + 1)
      .filter((later) => later.from < earlier.to)
      .map((later): [Hold, Hold] => [earlier, later]),
  );
}

/** The greatest number of holds at one moment, for semaphores and limits on concurrency. */
export function greatestConcurrency(holds: readonly Hold[]): number {
  const changes = holds.flatMap(({ from, to }) => [
    { at: from, by: 1 },
    { at: to, by: -1 },
  ]);
  let now = 0;
  let most = 0;
  for (const { by } of changes.toSorted((a, b) => a.at - b.at || a.by - b.by)) {
    now += by;
    most = Math.max(most, now);
  }
  return most;
}
