// @ts-check
// Writes docs/configuration.md: names, types and meanings from the exported option types, defaults and accepted names from the
// schemas. What the two say differently is a problem.
import { agree, formatDefault, saidDefault, simpleDefault, withoutDefault } from './default-text.mjs';
import { defaultOf, knownNames, resolvers } from './defaults.mjs';
import { optionTypes } from './options.mjs';

/** @typedef {import('./options.mjs').OptionType} OptionType */
/** @typedef {import('./options.mjs').Member} Member */
/** @typedef {{ resolve: import('./defaults.mjs').Resolve, keys: readonly string[] } | undefined} Source where defaults come from */
/** @typedef {{ type: OptionType, source: Source, whole: boolean }} Section `whole`: not one of several that make up the options */

const ROOT_TYPE = 'RedisPatternsOptions';
const HEAD = `# Configuration

Written by \`npm run docs\` from the types and schemas of the library; do not edit.

- A **\`Duration\`** is a number of milliseconds, or a text with its unit: \`'250ms'\`, \`'30s'\`, \`'5m'\`, \`'1.5h'\`, \`'7d'\`.
- A **\`ByteSize\`** is a number of bytes, or a text with its unit: \`'512b'\`, \`'2kb'\` (2048 bytes), \`'1.5mb'\`, \`'1gb'\`.
- Options are read once. An unknown name, a wrong type or a value out of bounds fails the boot with an \`InvalidOptionsError\` that names
  the option and what to give instead.
- A default in the table is what the schema fills in; where there is none, the option is off or the text says what happens.

## Where options stand

Those of the module apply to the whole application. Decorators and calls take options of their own, which win where they have the same
name.
`;

/**
 * @param {ReturnType<typeof import('./program.mjs').libraryProgram>} library
 * @returns {Promise<{ text: string, problems: string[] }>}
 */
export async function renderConfiguration(library) {
  const types = optionTypes(library);
  const parsers = await resolvers();
  const sections = [...moduleSections(types, parsers)];
  const inModule = new Set(sections.map(({ type }) => type.name));
  const others = [...types.values()].filter(
    ({ name, members }) => name.endsWith('Options') && !inModule.has(name) && members.length > 0,
  );
  for (const type of others.toSorted((a, b) => a.name.localeCompare(b.name)))
    sections.push({ type, source: undefined, whole: true });
  const known = new Set(sections.map(({ type }) => type.name));
  const blocks = sections.map((section) =>
    renderSection(section, known, section.type.name === ROOT_TYPE || inModule.has(section.type.name)),
  );
  const first = blocks.slice(0, inModule.size);
  const rest = blocks.slice(inModule.size);
  const text = [HEAD, '## Options of the module\n', ...first, '## Options of decorators and calls\n', ...rest].join(
    '\n',
  );
  return { text, problems: sections.flatMap(problemsOf) };
}

/**
 * The options of the module and all that they are made of, outer ones first.
 *
 * @param {ReadonlyMap<string, OptionType>} types
 * @param {ReadonlyMap<string, import('./defaults.mjs').Resolve>} parsers
 */
function* moduleSections(types, parsers) {
  /** @type {Section[]} */
  const waiting = [{ type: need(types, ROOT_TYPE), source: undefined, whole: true }];
  const seen = new Set([ROOT_TYPE]);
  for (let section = waiting.shift(); section; section = waiting.shift()) {
    yield section;
    const { type, source } = section;
    /** @type {{ text: string, source: Source, whole: boolean }[]} */
    const references = type.members.map((member) => {
      const resolve = type.name === ROOT_TYPE ? parsers.get(member.name) : undefined;
      const from = resolve ? { resolve, keys: [] } : source && { ...source, keys: [...source.keys, member.name] };
      // A record of things has no one default, and no fixed path.
      return { text: member.type, source: /Record</.test(member.type) ? undefined : from, whole: true };
    });
    if (type.alias) references.push({ text: type.alias, source, whole: false });
    for (const { text, source: from, whole } of references) {
      for (const [name] of text.matchAll(/\b[A-Z]\w+/g)) {
        const found = types.get(name);
        if (!found || seen.has(name) || (found.members.length === 0 && !mentions(found.alias, types))) continue;
        seen.add(name);
        waiting.push({ type: found, source: from, whole });
      }
    }
  }
}

/**
 * @param {string | undefined} alias
 * @param {ReadonlyMap<string, OptionType>} types
 */
function mentions(alias = '', types) {
  return [...alias.matchAll(/\b[A-Z]\w+/g)].some(([name]) => (types.get(name)?.members.length ?? 0) > 0);
}

/**
 * @param {ReadonlyMap<string, OptionType>} types
 * @param {string} name
 */
function need(types, name) {
  const found = types.get(name);
  if (!found) throw new Error(`${name} is not exported`);
  return found;
}

/**
 * @param {Section} section
 * @param {ReadonlySet<string>} known types that have a section
 * @param {boolean} flat whether inherited members are listed again
 */
function renderSection({ type, source }, known, flat) {
  const lines = [`### ${type.name}`, ''];
  if (type.text) lines.push(type.text, '');
  if (type.alias) lines.push(`${linked(type.alias, known)}`, '');
  const isOwn = (/** @type {Member} */ { from }) => flat || from === type.name || !known.has(from);
  const own = type.members.filter(isOwn);
  if (own.length > 0) {
    lines.push('| option | type | default | meaning |', '|---|---|---|---|');
    lines.push(...own.map((member) => renderMember(member, source, known)));
    lines.push('');
  }
  lines.push(...inherited(type.members.filter((member) => !isOwn(member))));
  return lines.join('\n');
}

/** @param {readonly Member[]} members */
function inherited(members) {
  const bases = [...new Set(members.map(({ from }) => from))];
  return bases.flatMap((base) => {
    const names = members.filter(({ from }) => from === base).map(({ name }) => `\`${name}\``);
    return [`As in [${base}](#${base.toLowerCase()}): ${names.join(', ')}.`, ''];
  });
}

/**
 * @param {Member} member
 * @param {Source} source
 * @param {ReadonlySet<string>} known
 */
function renderMember(member, source, known) {
  const value = valueOf(member, source, known);
  const said = member.optional ? simpleDefault(member.text) : '**required**';
  const text = value === undefined ? (said ?? '') : `\`${value}\``;
  const meaning = text === '' ? member.text : withoutDefault(member.text);
  return `| \`${member.name}\` | ${cell(linked(member.type, known))} | ${cell(text)} | ${cell(meaning)} |`;
}

/**
 * @param {Member} member
 * @param {Source} source
 * @param {ReadonlySet<string>} known
 */
function valueOf(member, source, known) {
  if (!source || !member.optional) return undefined;
  const value = defaultOf(source.resolve, [...source.keys, member.name]);
  // What has a section of its own has its defaults there.
  const [target] = sectionsIn(member.type, known);
  if (target !== undefined && typeof value === 'object') return undefined;
  return formatDefault(value, member.type);
}

/**
 * A type as code; what has a section is a link to it.
 *
 * @param {string} type
 * @param {ReadonlySet<string>} known
 */
function linked(type, known) {
  const [target] = sectionsIn(type, known);
  return target ? `[\`${type}\`](#${target.toLowerCase()})` : `\`${type}\``;
}

/**
 * @param {string} type
 * @param {ReadonlySet<string>} known
 */
function sectionsIn(type, known) {
  return [...type.matchAll(/\b[A-Z]\w+/g)].map(([name]) => name).filter((name) => known.has(name));
}

/** @param {string} text */
function cell(text) {
  return text.replaceAll('|', '\\|');
}

/** @param {Section} section */
function problemsOf({ type, source, whole }) {
  if (!source) return [];
  const wrong = type.members.flatMap((member) => {
    const said = saidDefault(member.text);
    const value = defaultOf(source.resolve, [...source.keys, member.name]);
    if (said === undefined || value === undefined || agree(said, value)) return [];
    return [`${type.name}.${member.name}: its TSDoc says ${said}, its schema ${JSON.stringify(value)}`];
  });
  const names = knownNames(source.resolve, source.keys, modeOf(type));
  if (!names || type.alias) return wrong;
  const documented = type.members.map(({ name }) => name);
  // A URL is taken apart before the schema sees the options.
  const refused = documented.filter((name) => !names.includes(name) && name !== 'url');
  const untold = names.filter((name) => whole && !documented.includes(name));
  return [
    ...wrong,
    ...refused.map((name) => `${type.name}.${name}: its schema does not know it`),
    ...untold.map((name) => `${type.name} has no member '${name}', which its schema knows`),
  ];
}

/**
 * What tells the schema which of several forms of the options is meant.
 *
 * @param {OptionType} type
 */
function modeOf({ members }) {
  const [, mode] = /^'(\w+)'$/.exec(members.find(({ name }) => name === 'mode')?.type ?? '') ?? [];
  return mode === undefined ? {} : { mode };
}
