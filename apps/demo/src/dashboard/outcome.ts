/** What an experiment came to: in words for people, in figures for programs. */
export interface Outcome {
  readonly words: string;
  readonly figures: Readonly<Record<string, number | string | undefined>>;
}

export function times(count: number): string {
  return count === 1 ? 'once' : `${count} times`;
}
