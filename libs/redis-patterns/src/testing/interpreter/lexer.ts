/** One word of a Lua program. */
export interface Token {
  readonly kind: 'name' | 'keyword' | 'number' | 'string' | 'symbol' | 'end';
  readonly text: string;
  readonly line: number;
}

const KEYWORDS = new Set(
  'and break do else elseif end false for function if in local nil not or repeat return then true until while'.split(
    ' ',
  ),
);
const TOKEN =
  /(?<space>\s+|--\[\[[\s\S]*?\]\]|--[^\n]*)|(?<name>[A-Za-z_]\w*)|(?<number>0[xX][\da-fA-F]+|\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+)|(?<string>"(?:\\[\s\S]|[^"\\\n])*"|'(?:\\[\s\S]|[^'\\\n])*')|(?<symbol>\.\.\.|\.\.|==|~=|<=|>=|[-+*/%^#<>=(){}[\];:,.])/y;
const ESCAPES: Record<string, string> = { n: '\n', r: '\r', t: '\t', a: '\x07', b: '\b', f: '\f', v: '\v' };

/** The words of a program; of long strings only comments are known. */
export function lex(source: string): Token[] {
  const tokens: Token[] = [];
  let line = 1;
  for (TOKEN.lastIndex = 0; TOKEN.lastIndex < source.length;) {
    const start = TOKEN.lastIndex;
    const groups = TOKEN.exec(source)?.groups;
    if (groups === undefined) throw new SyntaxError(`Lua line ${line}: unexpected ${JSON.stringify(source[start])}`);
    const { space, name, number, string, symbol } = groups;
    if (name !== undefined) tokens.push({ kind: KEYWORDS.has(name) ? 'keyword' : 'name', text: name, line });
    else if (number !== undefined) tokens.push({ kind: 'number', text: number, line });
    else if (string !== undefined) tokens.push({ kind: 'string', text: unescape(string.slice(1, -1)), line });
    else if (symbol !== undefined) tokens.push({ kind: 'symbol', text: symbol, line });
    line += (space ?? '').split('\n').length - 1;
  }
  tokens.push({ kind: 'end', text: 'the end', line });
  return tokens;
}

function unescape(text: string): string {
  return text.replace(/\\(\d{1,3}|[\s\S])/g, (_, what: string) =>
    /^\d/.test(what) ? String.fromCharCode(Number(what)) : (ESCAPES[what] ?? what),
  );
}
