import { checkName, checkNames } from '../buckets/index.js';
import type { EngineContext } from '../connection/index.js';
import type { Key } from '../keys/index.js';
import { runScript } from '../scripting/index.js';
import { traceMethods, type PatternTracer } from '../telemetry/index.js';
import { bloomItems, bloomPlaces, bloomShape, type BloomShape } from './bloom-shape.js';
import { BloomDataLostError, BloomFullError, BloomMismatchError } from './counting.errors.js';
import type { ResolvedBloomFilter } from './counting.options.js';
import { bloomAddScript, bloomHasScript } from './scripts.generated.js';

/** What is known of a filter. */
export interface BloomFilterInfo {
  readonly capacity: number;
  readonly errorRate: number;
  /** Different items that were added, by the number of bits that are set. */
  readonly items: number;
  /** Share of the bits that are set; half of them when it is full. */
  readonly fill: number;
  /** How often it says at present that an item is in it that is not. */
  readonly currentErrorRate: number;
  /** Bytes of its bitmaps, once all of them are there. */
  readonly bytes: number;
  /** `undefined` before the first item. */
  readonly expiresAt: Date | undefined;
}

const PATTERN = 'bloom';
const WHERE = 'BloomFilter';
/** Items of one script. */
const BATCH = 100;

/** One Bloom filter, as {@link BloomFilterService.filter} gives it: light, to be kept or asked for each time. */
export class BloomFilter {
  readonly #context: EngineContext;
  private readonly tracer: PatternTracer;
  readonly #definition: ResolvedBloomFilter;
  readonly #shape: BloomShape;
  readonly #keys: [header: string, ...chunks: string[]];
  /** What it says when it holds more than it was made for. */
  readonly #onOverfull: () => void;

  /** @internal */
  constructor(context: EngineContext, name: Key, definition: ResolvedBloomFilter, onOverfull: () => void) {
    checkName(name);
    const header = context.keys.main(PATTERN, name);
    this.tracer = context.telemetry.tracer('counting', context.connection.name);
    this.#context = context;
    this.#definition = definition;
    this.#shape = bloomShape(definition.capacity, definition.errorRate);
    const chunks = Array.from({ length: this.#shape.chunks }, (_, n) =>
      context.keys.companion(PATTERN, 'chunk', header, n),
    );
    this.#keys = [header, ...chunks];
    this.#onOverfull = onOverfull;
    Object.freeze(this);
  }

  /**
   * Adds an item. It may be repeated, and is when a reply was lost; the answer is then `false`.
   *
   * @returns whether it was surely not in it before
   * @throws BloomMismatchError, BloomDataLostError, BloomFullError (`onFull: 'error'`), RedisUnavailableError
   */
  async add(item: string): Promise<boolean> {
    return (await this.addMany([item]))[0]!;
  }

  /** {@link add} for a list, 100 in one script. */
  async addMany(items: readonly string[]): Promise<boolean[]> {
    const { ttl, onFull, capacity } = this.#definition;
    const { bits, hashes } = this.#shape;
    const most = onFull === 'error' ? capacity : 0;
    return this.#inBatches(items, async (places) => {
      const args = [String(bits), String(hashes), ttl, most, ...places] as const;
      const reply = await runScript(this.#context.connection, bloomAddScript, this.#keys, [...args]);
      const [state, held = 0, ...results] = reply;
      if (state === 'full') throw new BloomFullError();
      if (state === 'ok' && held > capacity) this.#onOverfull();
      return [state, ...results];
    });
  }

  /**
   * Whether an item was added: `false` is sure while the filter lives, `true` is wrong as often as `errorRate` says.
   *
   * @throws BloomMismatchError, BloomDataLostError, RedisUnavailableError; never `false` when it cannot be known
   */
  async has(item: string): Promise<boolean> {
    return (await this.hasMany([item]))[0]!;
  }

  /** {@link has} for a list, 100 in one script. */
  async hasMany(items: readonly string[]): Promise<boolean[]> {
    return this.#inBatches(items, (places) => this.#ask(places));
  }

  /**
   * What is known of it, by counting its bits, chunk by chunk.
   *
   * @throws BloomMismatchError, BloomDataLostError, RedisUnavailableError
   */
  async info(): Promise<BloomFilterInfo> {
    const [header, ...chunks] = this.#keys;
    const { connection } = this.#context;
    const { bits, hashes } = this.#shape;
    const known = await connection.run({
      name: 'counting.bloom-header',
      effect: 'read',
      key: header,
      send: (client) => client.hgetall(header),
    });
    const sets: number[] = [];
    for (const key of chunks) {
      const operation = { name: 'counting.bloom-bits', effect: 'read', key } as const;
      sets.push(await connection.run({ ...operation, send: (client) => client.bitcount(key) }));
    }
    await this.#checkParts(known, sets);
    const { capacity, errorRate } = this.#definition;
    const fills = sets.map((set) => set / bits);
    return {
      capacity,
      errorRate,
      items: sets.reduce((sum, set) => sum + bloomItems(set, this.#shape), 0),
      fill: mean(fills),
      currentErrorRate: mean(fills.map((fill) => fill ** hashes)),
      bytes: Math.ceil(bits / 8) * chunks.length,
      expiresAt: known.expires === undefined ? undefined : new Date(Number(known.expires)),
    };
  }

  /** Drops the filter, to be filled anew. @returns whether there was one */
  async clear(): Promise<boolean> {
    const dropped = await this.#context.connection.run({
      name: 'counting.clear',
      effect: 'idempotent',
      key: this.#keys[0],
      send: (client) => client.unlink(...this.#keys),
    });
    return dropped > 0;
  }

  /** One chunk that was created has bits, as each item sets some. */
  async #checkParts(header: Readonly<Record<string, string>>, sets: readonly number[]): Promise<void> {
    const { bits, hashes, chunks } = this.#shape;
    const made = header.bits !== undefined;
    const same = [header.bits, header.hashes, header.chunks].join() === [bits, hashes, chunks].join();
    if (made && !same) throw new BloomMismatchError();
    const doubtful = [...sets.keys()].filter((n) => (header[`chunk:${n}`] !== undefined) !== sets[n]! > 0);
    if (doubtful.length === 0) return;
    // Others may have begun or dropped chunks between the replies: a script sees header and chunks at one moment.
    const places = doubtful.flatMap((n) => [n, ...Array<number>(hashes).fill(0)]);
    await this.#answers(this.#ask(places));
  }

  async #inBatches(
    items: readonly string[],
    ask: (places: number[]) => Promise<readonly [state: string, ...results: (0 | 1)[]]>,
  ): Promise<boolean[]> {
    checkNames(items, WHERE, 'items', Infinity);
    const answers: boolean[] = [];
    for (let start = 0; start < items.length; start += BATCH) {
      const places = items.slice(start, start + BATCH).flatMap((item) => bloomPlaces(item, this.#shape));
      for (const result of await this.#answers(ask(places))) answers.push(result === 1);
    }
    return answers;
  }

  /** Whether what stands at places is in it: of each its chunk, then its bits. */
  #ask(places: readonly number[]): Promise<readonly [state: string, ...results: (0 | 1)[]]> {
    const { bits, hashes } = this.#shape;
    return runScript(this.#context.connection, bloomHasScript, this.#keys, [String(bits), String(hashes), ...places]);
  }

  async #answers(reply: Promise<readonly [state: string, ...results: (0 | 1)[]]>): Promise<(0 | 1)[]> {
    const [state, ...results] = await reply;
    if (state === 'mismatch') throw new BloomMismatchError();
    if (state === 'lost') throw new BloomDataLostError();
    return results;
  }
}

traceMethods(BloomFilter, ['addMany', 'hasMany', 'info', 'clear']);

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
