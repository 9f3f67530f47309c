import { ownWorkload } from './own-patterns.js';
import { isWord, partsOf } from './words.js';

interface Node {
  count: number;
  readonly children: Map<string, Node>;
  /** Words that stand behind this part, at most {@link MOST_WORDS}. */
  readonly next: Set<string>;
  /** Nothing behind this part is told. */
  cut: boolean;
}

const DEEPEST = 4;
/** More children than these are ids, whatever they look like. */
const MOST_CHILDREN = 64;
const MOST_WORDS = 64;
const MOST_NODES = 2000;
/** Behind the first part, a part that fewer keys share is told of nobody. */
const FEWEST_KEYS = 3;

/**
 * Finds out which parts at the beginning of keys come from the program, and which are ids. Only the former are told: words
 * that several keys share, and that are few. The last part of a key is never told.
 */
export class PrefixTree {
  readonly #root: Node = emptyNode();
  #nodes = 0;

  constructor(
    names: Iterable<string>,
    /** Namespace of the application: it is told, and so are names of its streams, as they come from code. */
    private readonly namespace?: string,
  ) {
    for (const name of names) this.#add(partsOf(name));
    this.#cutIds(this.#root, []);
  }

  /** The beginning of a key that may be told: `shop:cache:product:*`. */
  prefixOf(name: string): string {
    const parts = partsOf(name);
    if (parts.length === 3 && parts[0] === this.namespace && parts[1] === 'stream' && isWord(parts[2]!)) {
      return parts.join(':');
    }
    const told: string[] = [];
    let node = this.#root;
    for (const part of parts.slice(0, -1)) {
      const child = node.cut ? undefined : node.children.get(part);
      if (child === undefined) break;
      const own = told.length === 1 && ownWorkload([...told, part, '']) !== undefined;
      if (told.length > 0 && child.count < FEWEST_KEYS && !own) break;
      told.push(part);
      node = child;
    }
    return [...told, '*'].join(':');
  }

  #add(parts: readonly string[]): void {
    let node = this.#root;
    node.count++;
    for (let depth = 0; depth < parts.length; depth++) {
      const part = parts[depth]!;
      const word = isWord(part) || (depth === 0 && part === this.namespace);
      if (word && node.next.size < MOST_WORDS) node.next.add(part);
      const last = depth === parts.length - 1;
      // What stands behind the role of a companion is the key that it belongs to.
      const companion = depth > 1 && parts[1]!.includes('~');
      if (!word || last || companion || depth >= DEEPEST) return;
      let child = node.children.get(part);
      if (child === undefined) {
        if (this.#nodes >= MOST_NODES) return;
        this.#nodes++;
        child = emptyNode();
        node.children.set(part, child);
      }
      child.count++;
      node = child;
    }
  }

  #cutIds(node: Node, path: readonly string[]): void {
    const children = [...node.children];
    // Patterns of this library are no ids, although the same names may stand behind them.
    const own = children.filter(([part]) => ownWorkload([...path, part, '']) !== undefined && path.length === 1);
    if (own.length === 0 && (children.length > MOST_CHILDREN || looksAlike(children.map(([, child]) => child)))) {
      node.cut = true;
      return;
    }
    for (const [part, child] of children) this.#cutIds(child, [...path, part]);
  }
}

/** `user:alice:cart`, `user:bob:cart`: the same word stands behind nearly all of them, so they are names of one kind of thing. */
function looksAlike(children: readonly Node[]): boolean {
  if (children.length < 3) return false;
  const counts = new Map<string, number>();
  for (const { next } of children) for (const word of next) counts.set(word, (counts.get(word) ?? 0) + 1);
  return Math.max(0, ...counts.values()) >= children.length * 0.8;
}

function emptyNode(): Node {
  return { count: 0, children: new Map(), next: new Set(), cut: false };
}
