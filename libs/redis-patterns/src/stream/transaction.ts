import { InvalidOptionsError } from '../core/errors.js';
import { inOneSlot } from '../keys/index.js';

/** A part of a command: a text, or the number of a key among KEYS. */
type Part = string | number;

const WHERE = 'StreamContext.commit';

/**
 * Records the commands of `ctx.commit()`.
 *
 * @example
 * ```ts
 * await ctx.commit((tx) => tx.call('HINCRBY', 'stock:{shop:stream:orders}', item, -1).call('SET', 'seen:{shop:stream:orders}', id));
 * ```
 */
export class StreamTransaction {
  readonly #keys: string[];
  readonly #commands: Part[][] = [];

  /** @internal */
  constructor(streamKey: string) {
    this.#keys = [streamKey];
  }

  /** @internal The key of the stream, then those of the commands. */
  get keys(): [string, ...string[]] {
    return this.#keys as [string, ...string[]];
  }

  /** @internal As the script reads it. */
  get commands(): string {
    return JSON.stringify(this.#commands);
  }

  /**
   * Adds a command that takes its key, or its keys, first.
   *
   * @param name such as `'INCRBY'`
   * @param key whole key in Redis, in the hash slot of the stream: give both the same `{tag}`
   * @throws InvalidOptionsError for a key of another slot, and an argument that is neither text nor number
   */
  call(name: string, key: string | readonly string[], ...args: readonly (string | number)[]): this {
    const keys = typeof key === 'string' ? [key] : key;
    if (typeof name !== 'string' || name === '' || keys.length === 0) {
      throw new InvalidOptionsError(WHERE, [
        { path: '', message: "call() takes a command such as 'INCRBY', and its key" },
      ]);
    }
    const strange = args.findIndex((arg) => typeof arg !== 'string' && typeof arg !== 'number');
    if (strange >= 0) {
      const message = `must be a text or a number, not a value of type ${typeof args[strange]}`;
      throw new InvalidOptionsError(WHERE, [{ path: `argument ${strange + 1} of ${name}`, message }]);
    }
    for (const one of keys) {
      if (inOneSlot(one, this.#keys[0]!)) continue;
      const message = `is in another hash slot than the stream, so a Cluster could not do both at once; give it the tag {${tagOf(this.#keys[0]!)}}`;
      throw new InvalidOptionsError(WHERE, [{ path: `key '${one}'`, message }]);
    }
    this.#commands.push([name, ...keys.map((one) => this.#keys.push(one)), ...args.map(String)]);
    return this;
  }
}

function tagOf(streamKey: string): string {
  return /\{([^{}]+)\}/.exec(streamKey)?.[1] ?? streamKey;
}
