import { Cursor } from './cursor.js';
import { lex } from './lexer.js';
import { LuaRuntime, type LuaValue } from './runtime.js';

/** Binary operators by their strength, weakest first; `right` ones bind to the right. */
const BINARY: Record<string, { readonly power: number; readonly right?: boolean; readonly method: string }> = {
  or: { power: 1, method: 'or' },
  and: { power: 2, method: 'and' },
  '<': { power: 3, method: 'less' },
  '>': { power: 3, method: 'more' },
  '<=': { power: 3, method: 'notMore' },
  '>=': { power: 3, method: 'notLess' },
  '==': { power: 3, method: 'equal' },
  '~=': { power: 3, method: 'different' },
  '..': { power: 4, right: true, method: 'concat' },
  '+': { power: 5, method: 'add' },
  '-': { power: 5, method: 'subtract' },
  '*': { power: 6, method: 'multiply' },
  '/': { power: 6, method: 'divide' },
  '%': { power: 6, method: 'modulo' },
  '^': { power: 8, right: true, method: 'power' },
};
const UNARY_POWER = 7;
const UNARY: Record<string, string> = { not: 'not', '-': 'negate', '#': 'length' };

/** A compiled program: takes the values of its globals, gives what it returns. */
export type Program = (globals: ReadonlyMap<string, LuaValue>) => LuaValue[];

/**
 * Compiles the part of Lua 5.1 that scripts for Redis are written in to JavaScript. Not there: coroutines, metatables, `goto`,
 * assignments to globals (which Redis refuses as well).
 */
export function compile(source: string): Program {
  const code = new Compiler(lex(source)).program();
  // The text is that of a script of the library or of the test's author, whom nothing keeps from running code anyway.
  // oxlint-disable-next-line no-implied-eval -- that is what a compiler is for
  const run = new Function('rt', 'globals', code) as (
    rt: LuaRuntime,
    globals: ReadonlyMap<string, LuaValue>,
  ) => LuaValue[];
  const runtime = new LuaRuntime();
  return (globals) => run(runtime, globals);
}

/** Recursive descent; expressions by precedence climbing. What it makes calls {@link LuaRuntime} as `rt`. */
class Compiler extends Cursor {
  #names = 0;
  #scope: Map<string, string>[] = [];

  program(): string {
    const body = this.#block();
    if (this.token.kind !== 'end') this.fail();
    return `${body}\nreturn [];`;
  }

  #declare(name: string): string {
    const own = `${name}_${this.#names++}`;
    this.#scope.at(-1)!.set(name, own);
    return own;
  }

  #variable(name: string): string | undefined {
    return this.#scope.findLast((scope) => scope.has(name))?.get(name);
  }

  /** Statements until a word that ends a block; with names that they see. */
  #block(declared: readonly (readonly [name: string, own: string])[] = []): string {
    this.#scope.push(new Map(declared));
    const lines: string[] = [];
    while (this.token.kind !== 'end' && !['end', 'else', 'elseif', 'until'].some((word) => this.is(word))) {
      if (this.take(';')) continue;
      const last = this.is('return') || this.is('break');
      lines.push(this.#statement());
      this.take(';');
      if (last) break;
    }
    this.#scope.pop();
    return lines.join('\n');
  }

  #statement(): string {
    if (this.take('local')) return this.take('function') ? this.#localFunction() : this.#local();
    if (this.take('if')) return this.#if();
    if (this.take('for')) return this.#for();
    if (this.take('while')) {
      const condition = this.#expression();
      this.expect('do');
      return `while (rt.truth(${condition})) {\n${this.#bodyToEnd()}\n}`;
    }
    if (this.take('repeat')) {
      const body = this.#block();
      this.expect('until');
      return `do {\n${body}\n} while (!rt.truth(${this.#expression()}));`;
    }
    if (this.take('do')) return `{\n${this.#bodyToEnd()}\n}`;
    if (this.take('break')) return 'break;';
    if (this.take('return')) {
      const nothing = this.token.kind === 'end' || ['end', 'else', 'elseif', 'until', ';'].some((w) => this.is(w));
      return `return ${nothing ? '[]' : this.#list()};`;
    }
    return this.#assignmentOrCall();
  }

  #bodyToEnd(declared: readonly (readonly [string, string])[] = []): string {
    const body = this.#block(declared);
    this.expect('end');
    return body;
  }

  #local(): string {
    const names = [this.name()];
    while (this.take(',')) names.push(this.name());
    const values = this.take('=') ? this.#list() : '[]';
    const own = names.map((name) => this.#declare(name));
    return `let [${own.join(', ')}] = ${values};`;
  }

  #localFunction(): string {
    const own = this.#declare(this.name());
    return `const ${own} = ${this.#functionBody()};`;
  }

  #functionBody(): string {
    this.expect('(');
    const parameters: [string, string][] = [];
    while (!this.take(')')) {
      if (this.take('...')) parameters.push(['...', 'rest']);
      else {
        const name = this.name();
        parameters.push([name, `${name}_${this.#names++}`]);
      }
      this.take(',');
    }
    const list = parameters.map(([name, own]) => (name === '...' ? '...rest' : own)).join(', ');
    return `((${list}) => {\n${this.#bodyToEnd(parameters)}\nreturn [];\n})`;
  }

  #if(): string {
    const condition = this.#expression();
    this.expect('then');
    const then = `if (rt.truth(${condition})) {\n${this.#block()}\n}`;
    if (this.take('elseif')) return `${then} else ${this.#if()}`;
    if (this.take('else')) return `${then} else {\n${this.#bodyToEnd()}\n}`;
    this.expect('end');
    return then;
  }

  #for(): string {
    const names = [this.name()];
    while (this.take(',')) names.push(this.name());
    const declared = names.map((name) => [name, `${name}_${this.#names++}`] as const);
    const own = declared.map(([, each]) => each);
    if (this.take('in')) {
      const values = this.#list();
      this.expect('do');
      return `for (const [${own.join(', ')}] of rt.iterate(${values})) {\n${this.#bodyToEnd(declared)}\n}`;
    }
    this.expect('=');
    const bounds = this.#list();
    this.expect('do');
    return `for (const ${own[0]} of rt.range(${bounds})) {\n${this.#bodyToEnd(declared)}\n}`;
  }

  #assignmentOrCall(): string {
    const first = this.#suffixed();
    if (first.call) return `${first.code};`;
    const targets = [first];
    while (this.take(',')) targets.push(this.#suffixed());
    this.expect('=');
    const values = `const values = ${this.#list()};`;
    const sets = targets.map(({ set }, index) => (set ?? this.fail('a variable'))(`values[${index}]`));
    return `{ ${values} ${sets.join(' ')} }`;
  }

  /** A list of values; the last one may give several. */
  #list(): string {
    const items: string[] = [];
    do items.push(this.#expressionOf(0, true));
    while (this.take(','));
    return `[${items.map((item, index) => (index < items.length - 1 ? single(item) : item)).join(', ')}]`;
  }

  #expression(): string {
    return single(this.#expressionOf(0, true));
  }

  /** `...` before the code of what may give several values. */
  #expressionOf(limit: number, several = false): string {
    let left = this.#operand();
    for (;;) {
      const operator = BINARY[this.token.text];
      if (operator === undefined || !this.is(this.token.text) || operator.power <= limit) break;
      const { text } = this.token;
      this.skip();
      const right = single(this.#expressionOf(operator.right ? operator.power - 1 : operator.power));
      const lazy = text === 'and' || text === 'or' ? '() => ' : '';
      left = `rt.${operator.method}(${single(left)}, ${lazy}${right})`;
    }
    return several ? left : single(left);
  }

  #operand(): string {
    const { kind, text } = this.token;
    const unary = kind === 'keyword' || kind === 'symbol' ? UNARY[text] : undefined;
    if (unary !== undefined) {
      this.skip();
      return `rt.${unary}(${single(this.#expressionOf(UNARY_POWER))})`;
    }
    if (kind === 'number' || kind === 'string') {
      this.skip();
      return kind === 'number' ? String(Number(text)) : JSON.stringify(text);
    }
    if (this.take('nil')) return 'undefined';
    if (this.take('true')) return 'true';
    if (this.take('false')) return 'false';
    if (this.take('...')) return '...rest';
    if (this.take('function')) return this.#functionBody();
    if (this.is('{')) return this.#table();
    const { code, call } = this.#suffixed();
    return call ? `...${code}` : code;
  }

  #table(): string {
    this.expect('{');
    const parts: string[] = [];
    while (!this.take('}')) {
      const { next } = this;
      if (this.take('[')) {
        const key = this.#expression();
        this.expect(']');
        this.expect('=');
        parts.push(`.set(${key}, ${this.#expression()})`);
      } else if (this.token.kind === 'name' && next.text === '=' && next.kind === 'symbol') {
        const key = JSON.stringify(this.name());
        this.expect('=');
        parts.push(`.set(${key}, ${this.#expression()})`);
      } else {
        const item = this.#expressionOf(0, true);
        const last = this.is('}') || (this.is(',') && this.next.text === '}');
        parts.push(`.push(${last ? item : single(item)})`);
      }
      if (!this.take(',')) this.take(';');
    }
    return `rt.table()${parts.join('')}`;
  }

  /** A name or a value in brackets with all that follows: indices, calls, methods. */
  #suffixed(): { code: string; call: boolean; set?: (value: string) => string } {
    let code: string;
    let call = false;
    let set: ((value: string) => string) | undefined;
    if (this.take('(')) {
      code = `(${this.#expression()})`;
      this.expect(')');
    } else {
      const name = this.name();
      const own = this.#variable(name);
      code = own ?? `rt.global(globals, ${JSON.stringify(name)})`;
      if (own !== undefined) set = (value) => `${own} = ${value};`;
    }
    for (;;) {
      const target = call ? `${code}[0]` : code;
      if (this.is('(') || this.token.kind === 'string' || this.is('{')) {
        code = `rt.call(${target}, ${this.#arguments()})`;
        call = true;
        set = undefined;
      } else if (this.is('.') || this.is('[')) {
        const key = this.#key();
        code = `rt.index(${target}, ${key})`;
        call = false;
        set = (value) => `rt.assign(${target}, ${key}, ${value});`;
      } else if (this.take(':')) {
        const method = JSON.stringify(this.name());
        code = `rt.method(${target}, ${method}, ${this.#arguments()})`;
        call = true;
        set = undefined;
      } else return set === undefined ? { code, call } : { code, call, set };
    }
  }

  #key(): string {
    if (this.take('.')) return JSON.stringify(this.name());
    this.expect('[');
    const key = this.#expression();
    this.expect(']');
    return key;
  }

  #arguments(): string {
    if (this.token.kind === 'string') return `[${this.#operand()}]`;
    if (this.is('{')) return `[${this.#table()}]`;
    this.expect('(');
    if (this.take(')')) return '[]';
    const list = this.#list();
    this.expect(')');
    return list;
  }
}

/** Of several values the first. */
function single(code: string): string {
  return code.startsWith('...') ? `${code.slice(3)}[0]` : code;
}
