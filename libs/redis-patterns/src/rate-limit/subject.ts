import { escapePart, InvalidKeyError, type Key } from '../keys/index.js';

/**
 * The text of a subject. A text is taken as it is, the parts of an array are escaped and joined by `:`.
 *
 * @throws InvalidKeyError for what would count different subjects together: empty texts, and parts that are missing
 */
export function subjectText(key: Key): string {
  if (typeof key === 'string' && key !== '') return key;
  if (!Array.isArray(key)) throw missing(key === '' ? 'is empty' : `is ${key === null ? 'null' : typeof key}`);
  const parts = key as readonly unknown[] as Exclude<Key, string>;
  if (parts.length === 0) throw missing('is empty');
  parts.forEach((part, index) => {
    if (part === undefined || part === null || part === '') throw missing(`has nothing in part ${index}`);
  });
  return parts.map((part, index) => escapePart(part, index)).join(':');
}

function missing(what: string): InvalidKeyError {
  return new InvalidKeyError(
    `the subject of the rate limit ${what}; give who is counted, such as 'user:42' or ['user', id]`,
  );
}
