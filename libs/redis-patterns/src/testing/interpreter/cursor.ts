import type { Token } from './lexer.js';

/** A place in a list of words, and how to go on from there. */
export class Cursor {
  #at = 0;

  constructor(private readonly tokens: readonly Token[]) {}

  protected get token(): Token {
    return this.tokens[this.#at]!;
  }

  /** The word after the present one. */
  protected get next(): Token {
    return this.tokens[this.#at + 1]!;
  }

  /** Whether the present word is this keyword or symbol. */
  protected is(text: string): boolean {
    const { kind, text: found } = this.token;
    return found === text && (kind === 'keyword' || kind === 'symbol');
  }

  protected skip(): void {
    this.#at++;
  }

  /** Passes the word if it is this one. */
  protected take(text: string): boolean {
    if (!this.is(text)) return false;
    this.skip();
    return true;
  }

  protected expect(text: string): void {
    if (!this.take(text)) this.fail(text);
  }

  protected name(): string {
    const { kind, text } = this.token;
    if (kind !== 'name') this.fail('a name');
    this.skip();
    return text;
  }

  /** @throws SyntaxError */
  protected fail(wanted = 'something else'): never {
    throw new SyntaxError(`Lua line ${this.token.line}: ${wanted} expected near ${this.token.text}`);
  }
}
