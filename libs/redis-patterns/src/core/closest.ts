/**
 * The known word that a mistyped one probably meant: at most a third of its letters are wrong, missing, superfluous or
 * swapped. `undefined` when none is near.
 *
 * @example
 * ```ts
 * closest('tiemout', ['timeout', 'ttl']); // 'timeout'
 * ```
 */
export function closest(word: string, known: readonly string[]): string | undefined {
  let best: string | undefined;
  // Of a word of one or two letters, one wrong letter is no likeness.
  let limit = word.length < 3 ? 0 : Math.max(1, Math.floor(word.length / 3));
  for (const candidate of known) {
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase());
    if (distance > limit) continue;
    best = candidate;
    limit = distance - 1; // on a tie the first stays
  }
  return best;
}

/** Optimal string alignment: the Levenshtein distance in which swapping two neighbours counts as one. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const substitution = last[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      let cost = Math.min(last[j]! + 1, row[j - 1]! + 1, substitution);
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (swapped) cost = Math.min(cost, beforeLast[j - 2]! + 1);
      row.push(cost);
    }
    beforeLast = last;
    last = row;
  }
  return last[b.length]!;
}
