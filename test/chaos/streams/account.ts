import { findOverlaps, type Hold } from '../../support/history.js';
import { GROUPS, type Begun, type Body, type Ended, type Group, type Span } from './records.js';

/** A message that was published, and what its publisher was told. */
export interface Published extends Body {
  readonly startedAt: number;
  endedAt: number;
  outcome: 'ok' | 'refused' | 'not-sent' | 'unknown';
  /** What each attempt was told. */
  readonly told: string[];
  /** Ids of its entry that were answered: several when it was published again under its `dedupId`. */
  readonly ids: Set<string>;
  /** All replicas have it: no failover may lose it. */
  readonly replicated: boolean;
}

/** What the faults did that a promise excepts. */
export interface Exceptions {
  /** What was published from `from` to `to` may be lost: the data were deleted. */
  readonly deletions: Span[];
  /** The same, unless all replicas had it. */
  readonly failovers: Span[];
  /** Leases could not be renewed, or nobody knew of them any more. */
  readonly outages: Span[];
  /** Processes that stood still. */
  readonly stops: (Span & { readonly pid: number })[];
  /** When processes were killed. */
  readonly deaths: Map<number, number>;
}

export interface DeadMessage {
  readonly id: string;
  readonly group: Group;
  readonly reason: string;
}

interface Run extends Begun {
  ended?: Ended;
}

/** Compares what publishers were told with what was run and what lies among the dead letters. */
export class Account {
  readonly published = new Map<string, Published>();
  readonly exceptions: Exceptions = { deletions: [], failovers: [], outages: [], stops: [], deaths: new Map() };
  readonly #byId = new Map<string, Run>();
  /** In the order in which they were written down. */
  readonly runs: Run[] = [];
  readonly #done: Record<Group, Set<string>> = { a: new Set(), b: new Set() };

  add(begun: readonly Begun[], ended: readonly Ended[]): void {
    for (const record of begun) {
      const run: Run = { ...record };
      this.#byId.set(run.run, run);
      this.runs.push(run);
    }
    for (const record of ended) {
      const run = this.#byId.get(record.run)!;
      run.ended = record;
      if (!record.failed) this.#done[run.group].add(run.id);
    }
  }

  /** Runs of messages that somebody had begun before. */
  get repetitions(): number {
    const first = this.runs.filter(({ attempt }) => attempt === 1);
    return first.length - new Set(first.map(({ group, id }) => `${group} ${id}`)).size;
  }

  /** Answered, and neither run to success nor a dead letter, in a group; the servers still had them. */
  missing(dead: readonly DeadMessage[]): string[] {
    const buried = new Set(dead.map(({ group, id }) => `${group} ${id}`));
    return GROUPS.flatMap((group) =>
      [...this.published.values()]
        .filter(({ outcome }) => outcome === 'ok')
        .filter(({ id }) => !this.#done[group].has(id) && !buried.has(`${group} ${id}`))
        .filter((message) => !this.#forgotten(message))
        .map(({ id }) => `${group} ${id}`),
    );
  }

  /** Messages that have several ids although the servers forgot nothing. */
  duplicates(): Published[] {
    return [...this.published.values()].filter((message) => message.ids.size > 1 && !this.#forgotten(message));
  }

  /** What was run although its publisher was told that it was not published. */
  ghosts(): (Published | undefined)[] {
    const ids = new Set(this.runs.map(({ id }) => id));
    const published = [...ids].map((id) => this.published.get(id));
    return published.filter((message) => message?.outcome !== 'ok' && message?.outcome !== 'unknown');
  }

  /** Attempts that count the failures of another group, or more than there may be. */
  wrongAttempts(most: number): Run[] {
    return this.runs.filter(({ group, id, attempt }) => {
      const fails = this.published.get(id)?.fails.includes(group);
      return fails ? attempt > most : attempt !== 1;
    });
  }

  /** Dead letters of messages that do not fail in that group, and messages that have several in the group `a`. */
  wrongBurials(dead: readonly DeadMessage[]): DeadMessage[] {
    const seen = new Set<string>();
    return dead.filter(({ group, id, reason }) => {
      const again = group === 'a' && seen.has(id);
      if (group === 'a') seen.add(id);
      return again || reason !== 'max-attempts' || !this.published.get(id)?.fails.includes(group);
    });
  }

  /** Runs of one message of a group at the same time, by processes that knew no better but could have. */
  overlaps(): [Hold, Hold][] {
    const { deaths } = this.exceptions;
    const holds = new Map<string, Hold[]>();
    for (const run of this.runs) {
      if (run.ended?.aborted) continue;
      const to = run.ended?.to ?? deaths.get(run.pid) ?? Infinity;
      const name = `${run.group} ${run.id}`;
      const known = holds.get(name) ?? [];
      known.push({ owner: `${run.pid}`, from: run.from, to });
      holds.set(name, known);
    }
    return [...holds.values()]
      .filter((all) => all.length > 1)
      .flatMap((all) => findOverlaps(all))
      .filter(([earlier]) => !this.#excused(earlier));
  }

  #forgotten({ startedAt, endedAt, replicated }: Published): boolean {
    const { deletions, failovers } = this.exceptions;
    const spans = replicated ? deletions : [...deletions, ...failovers];
    return spans.some(({ from, to }) => startedAt <= to && endedAt >= from);
  }

  #excused({ owner, from, to }: Hold): boolean {
    const { outages, stops } = this.exceptions;
    const inside = (span: Span): boolean => from <= span.to && to >= span.from;
    return outages.some(inside) || stops.some((stop) => `${stop.pid}` === owner && inside(stop));
  }
}
