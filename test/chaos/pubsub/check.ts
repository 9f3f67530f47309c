/** A subscriber of numbers that grow, and what it was told: numbers and texts that begin with `gap`. */
export interface Report {
  /** Answered publishes that were neither heard nor covered by a gap before the next message. */
  readonly silentlyMissed: number[];
  /** Heard twice, or after a later one. */
  readonly disordered: number[];
  /** Gaps that follow another one without a message between them. */
  readonly doubledGaps: number;
}

/** Compares what a subscriber heard with what was published while it listened, up to the last number that it heard. */
export function inspect(events: readonly unknown[], answered: readonly number[]): Report {
  const silentlyMissed: number[] = [];
  const disordered: number[] = [];
  let doubledGaps = 0;
  let last = Number(events.find((event) => typeof event === 'number') ?? 0) - 1;
  let covered = true;
  for (const event of events) {
    if (typeof event !== 'number') {
      if (covered && last > 0) doubledGaps++;
      covered = true;
      continue;
    }
    if (event <= last) disordered.push(event);
    const before = last;
    if (!covered) silentlyMissed.push(...answered.filter((n) => n > before && n < event));
    last = event;
    covered = false;
  }
  return { silentlyMissed, disordered, doubledGaps };
}

export const WELL: Report = { silentlyMissed: [], disordered: [], doubledGaps: 0 };
