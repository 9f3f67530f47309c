import type { LeaderboardDefinition, LeaderboardEntry } from 'nestjs-redis-patterns';

interface Row {
  readonly member: string;
  readonly score: number;
  /** When it reached its score. */
  readonly turn: number;
  readonly data: unknown;
}

type Rules = Required<Pick<LeaderboardDefinition, 'order' | 'ties' | 'update'>> & { cap: number };

/** What a board is by its definition, as simple as it can be written. */
export class NaiveBoard {
  #rows: Row[] = [];
  #turns = 0;

  constructor(private readonly rules: Rules) {}

  /** @throws RangeError, and changes nothing, for what is not exact */
  submit(member: string, score: number, data?: unknown, update = this.rules.update): void {
    this.#take([{ member, next: this.#next(member, score, update), data }], update);
  }

  /** The same for all or none. */
  submitMany(scores: readonly { member: string; score: number }[]): void {
    this.#take(
      scores.map(({ member, score }) => ({
        member,
        next: this.#next(member, score, this.rules.update),
        data: undefined,
      })),
    );
  }

  remove(member: string): boolean {
    const before = this.#rows.length;
    this.#rows = this.#rows.filter((row) => row.member !== member);
    return this.#rows.length < before;
  }

  get entries(): LeaderboardEntry[] {
    return this.#rows.map(({ member, score, data }, index) => ({ member, score, rank: this.#rank(index), data }));
  }

  #next(member: string, score: number, update: Rules['update']): number {
    const old = this.#find(member)?.score;
    let next = score;
    if (update === 'sum') next = (old ?? 0) + score;
    else if (update === 'best' && old !== undefined && !this.#better(score, old)) next = old;
    if (Math.abs(next) > Number.MAX_SAFE_INTEGER) throw new RangeError('not exact');
    // There is one zero.
    return next + 0;
  }

  #take(changes: readonly { member: string; next: number; data: unknown }[], update = this.rules.update): void {
    for (const { member, next, data } of changes) {
      const old = this.#find(member);
      if (old?.score === next) {
        // A score that is no better is not taken; the latest is, and so is a sum, also if it is the same.
        if (update === 'best' || data === undefined) continue;
        this.#rows = this.#rows.map((row) => (row.member === member ? { ...row, data } : row));
        continue;
      }
      this.remove(member);
      this.#rows.push({ member, score: next, turn: ++this.#turns, data: data ?? old?.data });
    }
    this.#sort();
    this.#rows = this.#rows.slice(0, this.rules.cap);
  }

  #find(member: string): Row | undefined {
    return this.#rows.find((row) => row.member === member);
  }

  #rank(index: number): number {
    const { score } = this.#rows[index]!;
    if (this.rules.ties === 'first') return index + 1;
    const better = this.#rows.filter((row) => this.#better(row.score, score)).map((row) => row.score);
    return (this.rules.ties === 'dense' ? new Set(better).size : better.length) + 1;
  }

  #better(a: number, b: number): boolean {
    return this.rules.order === 'desc' ? a > b : a < b;
  }

  #sort(): void {
    const { order, ties } = this.rules;
    this.#rows.sort((a, b) => {
      if (a.score !== b.score) return this.#better(a.score, b.score) ? -1 : 1;
      if (ties === 'first') return a.turn - b.turn;
      return (a.member < b.member ? -1 : 1) * (order === 'desc' ? -1 : 1);
    });
  }
}
