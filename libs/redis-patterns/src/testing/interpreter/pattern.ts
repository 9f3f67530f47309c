const CLASSES: Record<string, string> = {
  a: 'A-Za-z',
  d: '0-9',
  l: 'a-z',
  s: '\\s',
  u: 'A-Z',
  w: 'A-Za-z0-9',
  x: 'A-Fa-f0-9',
  p: '!-\\/:-@\\[-`{-~',
  c: '\\x00-\\x1f\\x7f',
};
const known = new Map<string, RegExp>();

/** A Lua pattern as an expression of JavaScript; balanced pairs (`%b`), frontiers and positions are not there. */
export function expressionOf(pattern: string, flags = ''): RegExp {
  const key = `${flags}/${pattern}`;
  const cached = flags === '' ? known.get(key) : undefined;
  if (cached !== undefined) return cached;
  const expression = new RegExp(translated(pattern), `s${flags}`);
  if (flags === '') known.set(key, expression);
  return expression;
}

const REPETITIONS: Record<string, string> = { '*': '*', '+': '+', '?': '?', '-': '*?' };

function translated(pattern: string): string {
  let out = '';
  let inSet = false;
  /** Whether what stands before can be repeated: a character, class or set; behind a capture a `-` is a plain dash. */
  let repeatable = false;
  for (let at = 0; at < pattern.length; at++) {
    const char = pattern[at]!;
    if (char === '%') {
      const next = pattern[++at] ?? '';
      const members = CLASSES[next.toLowerCase()];
      if (members === undefined || !/[a-z]/i.test(next)) out += escaped(next);
      else if (/[A-Z]/.test(next)) out += inSet ? escaped(next) : `[^${members}]`;
      else out += inSet ? members : `[${members}]`;
      repeatable = true;
    } else if (inSet) {
      if (char === ']') inSet = false;
      out += char === '\\' || char === '[' ? `\\${char}` : char;
    } else if (char === '[') {
      inSet = repeatable = true;
      out += '[';
      if (pattern[at + 1] === '^') out += pattern[++at];
      // A bracket at the beginning of a set is one of its members.
      if (pattern[at + 1] === ']') out += `\\${pattern[++at]}`;
    } else if (repeatable && char in REPETITIONS) {
      out += REPETITIONS[char];
      repeatable = false;
    } else if (char === '(' || char === ')' || (char === '^' && at === 0) || isEnd(pattern, at)) {
      out += char;
      repeatable = false;
    } else {
      out += char === '.' ? char : escaped(char);
      repeatable = true;
    }
  }
  return out;
}

function isEnd(pattern: string, at: number): boolean {
  return pattern[at] === '$' && at === pattern.length - 1;
}

function escaped(char: string): string {
  return char.replace(/[\\^$.*+?()[\]{}|\-/]/, '\\$&');
}
