// Writes parsed scripts as typed TypeScript constants.
import { createHash } from 'node:crypto';

const BANNER = '// Generated from lua/*.lua by `npm run lua`; do not edit.';

/** @param {import('./parse.mjs').ParsedScript[]} scripts */
export function renderModule(scripts) {
  return [BANNER, "import type { Script } from '../scripting/index.js';", ...scripts.map(renderScript), ''].join('\n');
}

function renderScript(script) {
  const sha = createHash('sha1').update(script.lua).digest('hex');
  const lines = script.lua.split('\n').map((line) => `    ${JSON.stringify(line)},`);
  return `
${renderDoc(script)}
export const ${constantName(script.file)}: Script<${tuple(script.keys)}, ${tuple(script.args)}, ${script.returns.type}> = {
  name: '${script.pattern}.${script.file}',
  sha: '${sha}',
  effect: '${script.effect}',
  lua: [
${lines.join('\n')}
  ].join('\\n'),
};`;
}

function renderDoc({ description, keys, args, returns }) {
  const parameter = (kind) => (item, index) =>
    ` * - \`${kind}[${index + 1}${item.variadic ? '...' : ''}]\` ${item.name}${item.doc === '' ? '' : `: ${item.doc}`}`;
  const lines = [
    ...description.map((line) => ` * ${line}`),
    ' *',
    ...keys.map(parameter('KEYS')),
    ...args.map(parameter('ARGV')),
    ...(returns.doc === '' ? [] : [` * - returns ${returns.doc}`]),
  ];
  return ['/**', ...lines.map((line) => line.replaceAll('*/', '*\\/').trimEnd()), ' */'].join('\n');
}

function tuple(parameters) {
  return `[${parameters.map(({ name, type, variadic }) => (variadic ? `...${name}: ${arrayOf(type)}` : `${name}: ${type}`)).join(', ')}]`;
}

function arrayOf(type) {
  return type.includes('|') ? `(${type})[]` : `${type}[]`;
}

function constantName(file) {
  return `${file.replace(/-(\w)/g, (_, letter) => letter.toUpperCase())}Script`;
}
