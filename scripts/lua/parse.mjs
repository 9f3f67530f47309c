// Reads a Lua file: its header (description, KEYS, ARGV, RETURNS, EFFECT) and its body with includes put in.
import { readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

const EFFECTS = new Set(['read', 'idempotent', 'token', 'once']);
const PARAMETER = /^(KEYS|ARGV)\[(\d+)(\.\.\.)?\]\s+(\w+):\s*([^\s].*?)(?:\s{2,}(.*))?$/;

/**
 * @typedef {{ name: string, type: string, variadic: boolean, doc: string }} Parameter
 * @typedef {{ pattern: string, file: string, description: string[], keys: Parameter[], args: Parameter[],
 *   returns: { type: string, doc: string }, effect: string, lua: string }} ParsedScript
 */

/** @returns {ParsedScript} */
export function parseScript(pattern, path) {
  const text = readFileSync(path, 'utf8');
  const fault = (message) => new Error(`${path}: ${message}`);
  const script = {
    pattern,
    file: basename(path, '.lua'),
    description: [],
    keys: [],
    args: [],
    returns: undefined,
    effect: undefined,
  };
  for (const line of headerOf(text)) readHeaderLine(script, line, fault);
  if (script.description.length === 0) throw fault('the header needs a description');
  if (script.returns === undefined) throw fault('the header needs a line `--- RETURNS <type>  <doc>`');
  if (!EFFECTS.has(script.effect)) throw fault(`the header needs a line \`--- EFFECT ${[...EFFECTS].join('|')}\``);
  if (script.keys.length === 0) throw fault('a script without KEYS cannot be routed in a Cluster');
  const lua = bodyOf(text, path, [path]);
  checkUse('KEYS', script.keys, lua, fault);
  checkUse('ARGV', script.args, lua, fault);
  return { ...script, lua };
}

function headerOf(text) {
  const lines = [];
  for (const line of text.split('\n')) {
    if (!line.startsWith('---')) break;
    lines.push(line.slice(3).replace(/^ /, ''));
  }
  return lines;
}

function readHeaderLine(script, line, fault) {
  const parameter = PARAMETER.exec(line);
  if (parameter !== null) {
    const [, kind, index, dots, name, type, doc = ''] = parameter;
    const list = kind === 'KEYS' ? script.keys : script.args;
    if (Number(index) !== list.length + 1) throw fault(`${kind}[${index}] is out of order`);
    if (list.at(-1)?.variadic) throw fault(`${kind}[${index}] follows a variadic one`);
    list.push({ name, type, variadic: dots !== undefined, doc });
    return;
  }
  const [, tag, rest] = /^(RETURNS|EFFECT)\s+(.*)$/.exec(line) ?? [];
  if (tag === 'RETURNS') {
    const [type, ...doc] = rest.split(/\s{2,}/);
    script.returns = { type, doc: doc.join(' ') };
  } else if (tag === 'EFFECT') {
    script.effect = rest.trim();
  } else if (/^(KEYS|ARGV)\b/.test(line)) {
    throw fault(`cannot read \`${line}\`; write \`KEYS[1] name: type  doc\``);
  } else if (line.startsWith('@include')) {
    return;
  } else if (script.keys.length === 0 && script.args.length === 0 && line.trim() !== '') {
    script.description.push(line.trim());
  }
}

/** The code without its comments, with `--- @include file` replaced by that file. */
function bodyOf(text, path, stack) {
  const lines = [];
  for (const line of text.split('\n')) {
    const include = /^---\s*@include\s+(\S+)/.exec(line)?.[1];
    if (include !== undefined) {
      const target = join(dirname(path), include);
      if (stack.includes(target)) throw new Error(`Include cycle: ${[...stack, target].join(' -> ')}`);
      lines.push(bodyOf(readFileSync(target, 'utf8'), target, [...stack, target]));
    } else if (line.trim() !== '' && !line.trim().startsWith('--')) {
      lines.push(line.trimEnd());
    }
  }
  return lines.join('\n');
}

/** Every literal index that the code uses is declared, and every declared one is used. */
function checkUse(kind, declared, lua, fault) {
  const used = new Set([...lua.matchAll(new RegExp(`\\b${kind}\\[(\\d+)\\]`, 'g'))].map((match) => Number(match[1])));
  const dynamic = new RegExp(`\\b${kind}\\b(?!\\[\\d+\\])`).test(lua);
  const variadic = declared.at(-1)?.variadic === true;
  for (const index of used) {
    if (index > declared.length && !variadic) throw fault(`uses ${kind}[${index}], which the header does not declare`);
  }
  declared.forEach((parameter, index) => {
    if (!used.has(index + 1) && !dynamic)
      throw fault(`declares ${kind}[${index + 1}] ${parameter.name}, which it does not use`);
  });
}
