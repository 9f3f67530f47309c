import type { LuaValue } from './runtime.js';

/** A table: what is counted from 1 in an array, all else in a map. */
export class LuaTable {
  readonly items: LuaValue[] = [];
  readonly #fields = new Map<LuaValue, LuaValue>();

  static of(values: readonly LuaValue[]): LuaTable {
    return new LuaTable().push(...values);
  }

  /** As `#`. */
  get length(): number {
    return this.items.length;
  }

  get(key: LuaValue): LuaValue {
    return typeof key === 'number' && key >= 1 && key <= this.items.length
      ? this.items[key - 1]
      : this.#fields.get(key);
  }

  set(key: LuaValue, value: LuaValue): this {
    const { items } = this;
    if (typeof key === 'number' && key >= 1 && key <= items.length + 1 && Number.isInteger(key)) {
      if (key <= items.length) items[key - 1] = value;
      else if (value !== undefined) this.#append(value);
      while (items.length > 0 && items.at(-1) === undefined) items.pop();
    } else if (value === undefined) this.#fields.delete(key);
    else this.#fields.set(key, value);
    return this;
  }

  push(...values: LuaValue[]): this {
    const start = this.items.length;
    values.forEach((value, index) => this.set(start + index + 1, value));
    return this;
  }

  /** Keys and values, those that are counted first. */
  entries(): [LuaValue, LuaValue][] {
    const counted = this.items.map((value, index): [LuaValue, LuaValue] => [index + 1, value]);
    return [...counted.filter(([, value]) => value !== undefined), ...this.#fields];
  }

  /** What was set out of order may follow now. */
  #append(value: LuaValue): void {
    this.items.push(value);
    for (let next = this.items.length + 1; this.#fields.has(next); next++) {
      this.items.push(this.#fields.get(next));
      this.#fields.delete(next);
    }
  }
}
