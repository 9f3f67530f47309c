/**
 * The most recently used values, within a number and a size. A Map keeps the order: whatever is used goes to its end.
 */
export class Lru<V> {
  readonly #values = new Map<string, { readonly value: V; readonly size: number }>();
  #size = 0;

  constructor(
    private readonly max: number,
    /** Of all values together, in the unit of `set`. */
    private readonly maxSize = Infinity,
  ) {}

  get count(): number {
    return this.#values.size;
  }

  get size(): number {
    return this.#size;
  }

  get(key: string): V | undefined {
    const found = this.#values.get(key);
    if (found === undefined) return undefined;
    this.#values.delete(key);
    this.#values.set(key, found);
    return found.value;
  }

  /** A value that is larger than all may be together is not kept. */
  set(key: string, value: V, size = 0): void {
    this.delete(key);
    if (size > this.maxSize) return;
    this.#values.set(key, { value, size });
    this.#size += size;
    while (this.#values.size > this.max || this.#size > this.maxSize) {
      const [oldest] = this.#values.keys();
      this.delete(oldest!);
    }
  }

  delete(key: string): void {
    const found = this.#values.get(key);
    if (found === undefined) return;
    this.#values.delete(key);
    this.#size -= found.size;
  }

  clear(): void {
    this.#values.clear();
    this.#size = 0;
  }
}
