/** Something that this process leases now. Times are milliseconds. */
export interface Hold {
  readonly kind: string;
  /** Who asked for it: `Class.method`. */
  readonly name: string;
  readonly heldMs: number;
  /** When it ends at the latest. */
  readonly maxHoldMs: number;
  /** How long those before it were held, in the middle; `undefined` while too few are known. */
  readonly usualMs: number | undefined;
}

type Read = () => Iterable<Hold>;

/** What the engines of one application hold; read from the memory of this process. */
export class Holds implements Iterable<Hold> {
  readonly #reads: Read[] = [];

  add(read: Read): void {
    this.#reads.push(read);
  }

  *[Symbol.iterator](): Iterator<Hold> {
    for (const read of this.#reads) yield* read();
  }
}
