/** A run of a handler in a group that is ordered by key. Times are of one clock. */
export interface KeyRun {
  readonly key: string;
  /** Position of its message among those of the key, in the order of publishing. */
  readonly seq: number;
  /** The process, for messages. */
  readonly owner: string;
  readonly from: number;
  /** Infinity while it has not ended. */
  to: number;
  /** It may overlap with what comes after it: its process stood still for longer than its lease. */
  excused?: boolean;
}

/**
 * What is out of order: a run that starts although a later message of its key has started, or while another run of its key goes
 * on.
 */
export function outOfOrder(runs: readonly KeyRun[]): string[] {
  const faults: string[] = [];
  const last = new Map<string, KeyRun>();
  const open = new Map<string, KeyRun>();
  for (const run of runs.toSorted((a, b) => a.from - b.from)) {
    const before = last.get(run.key);
    if (before !== undefined && run.seq < before.seq) faults.push(`${tell(run)} starts after ${tell(before)}`);
    const longest = open.get(run.key);
    if (longest !== undefined && run.from < longest.to) faults.push(`${tell(run)} starts during ${tell(longest)}`);
    last.set(run.key, run);
    if (!run.excused && (longest === undefined || run.to > longest.to)) open.set(run.key, run);
  }
  return faults;
}

/** Messages that were published and never run, as `key seq`. */
export function neverRun(runs: readonly KeyRun[], published: ReadonlyMap<string, number>): string[] {
  const seen = new Set(runs.map(({ key, seq }) => `${key} ${seq}`));
  return [...published]
    .flatMap(([key, count]) => Array.from({ length: count }, (_, seq) => `${key} ${seq}`))
    .filter((name) => !seen.has(name));
}

function tell({ key, seq, owner, from, to }: KeyRun): string {
  return `${key} ${seq} (${owner}, ${from.toFixed(1)} to ${to.toFixed(1)})`;
}
