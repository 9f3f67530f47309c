import { escapePart, InvalidKeyError, missingInKey, type Key } from '../keys/index.js';

/**
 * The text of a subject. A text is taken as it is, the parts of an array are escaped and joined by `:`.
 *
 * @throws InvalidKeyError for what would count different subjects together: empty texts, and parts that are missing
 */
export function subjectText(key: Key): string {
  if (typeof key === 'string' && key !== '') return key;
  const lack = missingInKey(key);
  if (lack !== undefined) {
    throw new InvalidKeyError(
      `the subject of the rate limit ${lack}; give who is counted, such as 'user:42' or ['user', id]`,
    );
  }
  const parts = key as Exclude<Key, string>;
  return parts.map((part, index) => escapePart(part, index)).join(':');
}
