import { ReplyError } from './keyspace.js';

const SYNTAX = 'ERR syntax error';

/** A whole number. @throws ReplyError */
export function integer(text: string | undefined): number {
  if (text === undefined || !/^[-+]?\d+$/.test(text)) {
    throw new ReplyError('ERR value is not an integer or out of range');
  }
  return Number(text);
}

/** A score. @throws ReplyError */
export function float(text: string | undefined): number {
  const number =
    text === undefined || text === '' ? Number.NaN : Number(text.replace(/^([-+]?)inf(inity)?$/i, '$1Infinity'));
  if (Number.isNaN(number)) throw new ReplyError('ERR value is not a valid float');
  return number;
}

/** Reads options by their names from a list of arguments, and says when one is left over. */
export class Options {
  #at = 0;

  constructor(private readonly args: readonly string[]) {}

  get more(): boolean {
    return this.#at < this.args.length;
  }

  /** Whether the next word is this one; then it is passed. */
  flag(name: string): boolean {
    if (this.args[this.#at]?.toUpperCase() !== name) return false;
    this.#at++;
    return true;
  }

  /** The next argument. */
  next(): string {
    const value = this.args[this.#at++];
    if (value === undefined) throw new ReplyError(SYNTAX);
    return value;
  }

  rest(): readonly string[] {
    const rest = this.args.slice(this.#at);
    this.#at = this.args.length;
    return rest;
  }

  fail(): never {
    throw new ReplyError(SYNTAX);
  }
}

/** A glob of SCAN or PSUBSCRIBE as an expression. */
export function globExpression(glob: string): RegExp {
  const body = glob.replace(
    /\\([\s\S])|\*|\?|\[(\^?)((?:\\[\s\S]|[^\]\\])*)\]?|[^*?[\\]+/g,
    (part, quoted, not, members) => {
      if (quoted !== undefined) return escaped(quoted as string);
      if (part === '*') return '[\\s\\S]*';
      if (part === '?') return '[\\s\\S]';
      return members === undefined
        ? escaped(part as string)
        : `[${not as string}${(members as string).replaceAll('\\', '\\\\')}]`;
    },
  );
  return new RegExp(`^${body}$`);
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}

export function pairs(args: readonly string[]): [string, string][] {
  if (args.length % 2 === 1) throw new ReplyError('ERR wrong number of arguments');
  return args.flatMap((arg, index): [string, string][] => (index % 2 === 0 ? [[arg, args[index + 1]!]] : []));
}

/** Of a list, as LRANGE and ZRANGE count: negative ones from the end. */
export function slice<T>(items: readonly T[], start: number, stop: number): T[] {
  const from = start < 0 ? Math.max(0, items.length + start) : start;
  return items.slice(from, stop < 0 ? items.length + stop + 1 : stop + 1);
}
