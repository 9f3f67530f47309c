/** Values of one label that are told apart; names that a program makes up at run time become one more. */
const MOST = 500;
const OTHERS = '(others)';

/** Keeps the number of series finite, also where a name that should stand in the code is computed. */
export class BoundedLabels {
  readonly #known = new Map<string, Set<string>>();

  /** @returns the value, or `(others)` when the label has too many already */
  of(label: string, value: string): string {
    let values = this.#known.get(label);
    if (values === undefined) this.#known.set(label, (values = new Set()));
    if (values.has(value)) return value;
    if (values.size >= MOST) return OTHERS;
    values.add(value);
    return value;
  }
}
