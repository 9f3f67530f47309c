/** Definitions of one kind that are remembered; a name for each user would else fill the memory. */
const MOST = 1000;

/**
 * What names and their options were made into. Services are asked for the same few again and again, and to parse options costs as much
 * as the rest of a call does in this process.
 */
export class Definitions<Handle> {
  readonly #known = new Map<string, Handle>();

  /**
   * @param key the key in Redis
   * @param make parses the options; may throw
   */
  of(key: string, options: object, make: () => Handle): Handle {
    // What holds functions or objects may be another one with the same text.
    if (options === null || !Object.values(options).every(isPlain)) return make();
    const text = `${key}\n${JSON.stringify(options)}`;
    const known = this.#known.get(text);
    if (known !== undefined) return known;
    const handle = make();
    if (this.#known.size >= MOST) this.#known.delete(this.#known.keys().next().value!);
    this.#known.set(text, handle);
    return handle;
  }
}

function isPlain(value: unknown): boolean {
  return value === undefined || typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value);
}
