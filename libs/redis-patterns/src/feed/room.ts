/** Room for so many writes at the same time, first come, first served: many fan-outs at once must not use up the connection. */
export class Room {
  readonly #waiting: { readonly size: number; readonly enter: () => void }[] = [];

  constructor(private free: number) {}

  /** Resolves when there is room for `size`, which is no more than there is at all. */
  async enter(size: number): Promise<void> {
    if (this.#waiting.length === 0 && this.free >= size) this.free -= size;
    else await new Promise<void>((enter) => this.#waiting.push({ size, enter }));
  }

  leave(size: number): void {
    this.free += size;
    for (let next = this.#waiting[0]; next !== undefined && next.size <= this.free; next = this.#waiting[0]) {
      this.#waiting.shift();
      this.free -= next.size;
      next.enter();
    }
  }
}
