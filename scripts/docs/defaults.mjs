// @ts-check
// What the schemas make of options: their defaults, and which names they know.
import '../ts-loader.mjs';

const WHERE = 'the configuration reference';
const UNKNOWN = 'thisOptionDoesNotExist';

/** @typedef {(raw: unknown) => unknown} Resolve parses options, or throws what is wrong with them */

/**
 * How the options of each part of the module are parsed, by the name of the option.
 *
 * @returns {Promise<Map<string, Resolve>>}
 */
export async function resolvers() {
  const sources = new URL('../../libs/redis-patterns/src/', import.meta.url);
  const { patternParts } = await import(new URL('nest/pattern-parts.ts', sources).href);
  const { resolveConnectionOptions } = await import(new URL('connection/index.ts', sources).href);
  /** @type {Map<string, Resolve>} */
  const found = new Map([['connection', (raw) => resolveConnectionOptions(raw ?? {}, WHERE, 'connection')]]);
  for (const part of patternParts) found.set(part.option, (raw) => part.resolve(raw, WHERE));
  return found;
}

/**
 * The default of an option; `undefined` when there is none or it is not kept under its name.
 *
 * @param {Resolve} resolve
 * @param {readonly string[]} keys path of the option below those that `resolve` takes
 */
export function defaultOf(resolve, keys) {
  const parents = keys.slice(0, -1);
  // An object that is off by default has defaults of its own once it is there.
  for (const raw of [undefined, nested(parents, {})]) {
    const value = valueAt(attempt(() => resolve(raw)).value, keys);
    if (value !== undefined) return value;
  }
  return undefined;
}

/**
 * The names that the schema accepts below a path; `undefined` when it does not tell.
 *
 * @param {Resolve} resolve
 * @param {readonly string[]} keys
 * @param {object} [given] options beside the unknown one
 * @returns {string[] | undefined}
 */
export function knownNames(resolve, keys, given = {}) {
  const { error } = attempt(() => resolve(nested(keys, { ...given, [UNKNOWN]: 1 })));
  const message = error instanceof Error ? error.message : '';
  const [, list] = new RegExp(`${UNKNOWN}: unknown option; known are ([\\w, ]+)`).exec(message) ?? [];
  return list?.split(', ');
}

/**
 * @param {() => unknown} action
 * @returns {{ value?: unknown, error?: unknown }}
 */
function attempt(action) {
  try {
    return { value: action() };
  } catch (error) {
    return { error };
  }
}

/**
 * @param {readonly string[]} keys
 * @param {unknown} value
 * @returns {unknown}
 */
function nested(keys, value) {
  return keys.reduceRight((inner, key) => ({ [key]: inner }), value);
}

/**
 * @param {unknown} value
 * @param {readonly string[]} keys
 * @returns {unknown}
 */
function valueAt(value, keys) {
  return keys.reduce((inner, key) => /** @type {Record<string, unknown> | undefined} */ (inner)?.[key], value);
}
