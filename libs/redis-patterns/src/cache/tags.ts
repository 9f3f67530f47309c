import { escapePart } from '../keys/index.js';

/**
 * Names of tags as they stand in keys and entries: escaped, without repetition, in order.
 *
 * What a tag invalidates is decided by a random token in a key of its own: an entry keeps the tokens that its tags had before
 * it was loaded, and is valid while they are the current ones. A token that is gone equals none, so that a loss is a miss.
 */
export type TagNames = readonly string[];

/** Random text that stands for all that was loaded under a tag until now; `null`: there is none. */
export type Token = string | null;

export const NO_TAGS: TagNames = [];
export const NO_TOKENS: readonly Token[] = [];

/** What a name may hold in a key, but not between the tags of an entry. */
const SEPARATORS = /[,=;]/g;
/** What nearly every name is: nothing of it has to be escaped. */
const PLAIN = /^[\w.-]{1,128}$/;

export function tagNames(tags: readonly string[] | undefined): TagNames {
  if (tags === undefined || tags.length === 0) return NO_TAGS;
  const names = tags.map(tagName);
  return areInOrder(names) ? names : [...new Set(names)].toSorted();
}

/** Without repetition, too. */
function areInOrder(names: readonly string[]): boolean {
  for (let index = 1; index < names.length; index++) if (names[index - 1]! >= names[index]!) return false;
  return true;
}

function tagName(tag: string): string {
  if (PLAIN.test(tag)) return tag;
  return escapePart(tag).replace(SEPARATORS, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** All names of both. */
export function unionOfTags(one: TagNames, other: TagNames): TagNames {
  if (other.length === 0) return one;
  return one.length === 0 ? other : [...new Set([...one, ...other])].toSorted();
}

/** The tags of an entry with their tokens, for its header. Without a token an entry could never be valid. */
export function formatTags(names: TagNames, tokens: readonly Token[]): string {
  let text = '';
  for (let index = 0; index < names.length; index++) {
    text += `${index === 0 ? '' : ','}${names[index]}=${tokens[index] ?? ''}`;
  }
  return text;
}

/** The tags of an entry and their tokens; `undefined` for a damaged text. */
export function parseTags(text: string): Map<string, string> | undefined {
  const tags = new Map<string, string>();
  if (text === '') return tags;
  for (const part of text.split(',')) {
    const split = part.indexOf('=');
    if (split < 1 || split === part.length - 1) return undefined;
    tags.set(part.slice(0, split), part.slice(split + 1));
  }
  return tags;
}

/**
 * Whether an entry is valid by its tags: `true`, `false`, or the names of further tags whose tokens have to be known.
 *
 * @param text tags in the entry
 * @param names tags whose tokens are known, those of the caller among them
 * @param tokens their tokens now
 * @param required tags that the entry must have
 */
export function judgeTags(
  text: string,
  names: TagNames,
  tokens: readonly Token[],
  required: TagNames,
): boolean | TagNames {
  if (text === '') return required.length === 0;
  // What nearly every entry is: it has the tags of the caller, and their tokens.
  if (names.length > 0 && names === required && text === formatTags(names, tokens)) return !tokens.includes(null);
  const stored = parseTags(text);
  if (stored === undefined || required.some((name) => !stored.has(name))) return false;
  const unknown: string[] = [];
  for (const [name, token] of stored) {
    const index = names.indexOf(name);
    if (index === -1) unknown.push(name);
    else if (tokens[index] !== token) return false;
  }
  return unknown.length === 0 ? true : unknown;
}
