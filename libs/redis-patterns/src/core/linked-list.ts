/** What can stand in a list. Its neighbours are the business of the list alone. */
export interface Linked<T> {
  /** @internal */
  before?: T | undefined;
  /** @internal */
  behind?: T | undefined;
}

/**
 * Things in the order in which they came, each in one list at a time, and taken out from anywhere at no cost.
 *
 * For what comes and goes thousands of times a second a `Set` is dear: it leaves its former tables behind, each of which
 * refers to the next, so that what stood in them outlives many collections of garbage.
 */
export class LinkedList<T extends Linked<T>> {
  #first: T | undefined;
  #last: T | undefined;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get first(): T | undefined {
    return this.#first;
  }

  /** @param one in no list yet */
  add(one: T): void {
    const last = this.#last;
    if (last === undefined) this.#first = one;
    else {
      last.behind = one;
      one.before = last;
    }
    this.#last = one;
    this.#size++;
  }

  /** @returns whether it was there; it must be in no other list */
  delete(one: T): boolean {
    const { before, behind } = one;
    if (before === undefined && this.#first !== one) return false;
    if (before === undefined) this.#first = behind;
    else before.behind = behind;
    if (behind === undefined) this.#last = before;
    else behind.before = before;
    one.before = undefined;
    one.behind = undefined;
    this.#size--;
    return true;
  }

  *[Symbol.iterator](): Generator<T, void, undefined> {
    for (let one = this.#first; one !== undefined;) {
      // It may be taken out meanwhile.
      const { behind } = one;
      yield one;
      one = behind;
    }
  }
}
