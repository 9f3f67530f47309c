import type { RawEntry } from './entry-read.js';
import { NO_TOKENS } from './tags.js';

/** Keys of one command: the server begins with them while more are gathered. */
const MOST_KEYS = 64;
/** Who has so much less time than a batch goes alone, milliseconds. */
const TOLERANCE = 50;

type Texts = readonly (string | null)[];

/** One caller, whose keys follow each other: that of the entry, then those of its tags. */
interface Part {
  readonly start: number;
  readonly end: number;
  readonly resolve: (entry: RawEntry) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Gathers the reads of one turn of the event loop, for one MGET: under load a command of its own is most of what a read costs.
 * Nothing is held back while no other read is under way: a lone caller would wait for nobody.
 */
export class ReadBatch {
  /** Commands with reads of one caller or many that owe a reply. */
  underWay = 0;
  #keys: string[] = [];
  #parts: Part[] = [];
  #deadline = 0;

  constructor(
    /** Asks for all of the keys with one command; `deadline` is milliseconds. */
    private readonly ask: (keys: string[], deadline: number) => Promise<Texts>,
  ) {}

  /** Whether a read with this deadline, milliseconds, is better sent by itself. */
  isAlone(deadline: number): boolean {
    return this.#parts.length === 0 ? this.underWay === 0 : this.#deadline - deadline > TOLERANCE;
  }

  /** `tagKeys` are of the tags whose tokens are asked for. */
  add(entryKey: string, tagKeys: readonly string[], deadline: number): Promise<RawEntry> {
    return new Promise((resolve, reject) => {
      if (this.#parts.length === 0) {
        this.#deadline = deadline;
        // After everybody who has waited for the same reply has gone on.
        process.nextTick(this.#flush);
      }
      const start = this.#keys.push(entryKey) - 1;
      for (const key of tagKeys) this.#keys.push(key);
      this.#parts.push({ start, end: this.#keys.length, resolve, reject });
      if (this.#keys.length >= MOST_KEYS) this.#flush();
    });
  }

  readonly #flush = (): void => {
    const keys = this.#keys;
    const parts = this.#parts;
    if (parts.length === 0) return;
    this.#keys = [];
    this.#parts = [];
    this.underWay++;
    this.ask(keys, this.#deadline).then(
      (texts) => {
        this.underWay--;
        for (const part of parts) part.resolve(entryOf(texts, part));
      },
      (error: unknown) => {
        this.underWay--;
        for (const part of parts) part.reject(error);
      },
    );
  };
}

function entryOf(texts: Texts, { start, end }: Part): RawEntry {
  const tokens = end === start + 1 ? NO_TOKENS : texts.slice(start + 1, end);
  return { text: texts[start]!, pttl: undefined, tokens };
}
