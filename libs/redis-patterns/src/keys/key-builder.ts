import { escapePart, escapeSubject, type KeyPart } from './escape.js';
import { InvalidKeyError } from './keys.errors.js';

/**
 * How an application names a thing. A text is a literal that the developer wrote (it may hold one non-empty hash tag,
 * `'{eu}:orders'`); the parts of an array are escaped, so that no value can change the structure of the key, its hash
 * slot or a pattern.
 */
export type Key = string | readonly [resource: string, ...parts: KeyPart[]];

const NAMESPACE = /^[A-Za-z0-9._-]{1,64}$/;
const UNTAGGED = /^[^{}\ud800-\udfff]+$/;
const AT_MOST_ONE_TAG = /^[^{}]*(?:\{[^{}]+\}[^{}]*)?$/;

/**
 * Builds every Redis key of one application. All keys begin with the namespace: `<namespace>:<pattern>:<key>` for data,
 * `<namespace>:<pattern>~<role>:…` for what a pattern keeps beside it, in the hash slot of the main key.
 *
 * @example
 * ```ts
 * const keys = new KeyBuilder('shop');
 * keys.main('cache', ['product', 42]); // 'shop:cache:product:42'
 * keys.companion('cache', 'lease', 'shop:cache:product:42'); // 'shop:cache~lease:{shop:cache:product:42}'
 * ```
 */
export class KeyBuilder {
  /**
   * @param namespace 1 to 64 characters of `A-Z a-z 0-9 . _ -`
   * @throws InvalidKeyError for any other namespace
   */
  constructor(readonly namespace: string) {
    if (typeof namespace !== 'string' || !NAMESPACE.test(namespace)) {
      throw new InvalidKeyError("`namespace` must be 1 to 64 letters, digits, '.', '_' or '-', for example 'shop'");
    }
  }

  /** What the data keys of a pattern begin with: `'shop:cache:'`. Holds no glob character. */
  prefix(pattern: string): string {
    return `${this.namespace}:${pattern}:`;
  }

  /**
   * The data key of a pattern: `shop:cache:product:42`.
   *
   * @throws InvalidKeyError when the key is empty or missing, a literal has braces that are not one non-empty `{tag}`,
   * or a part has no stable text
   */
  main(pattern: string, key: Key): string {
    const prefix = `${this.namespace}:${pattern}:`;
    if (typeof key === 'string') return UNTAGGED.test(key) ? prefix + key : prefix + checkLiteral(key);
    if (!Array.isArray(key)) throw new InvalidKeyError(`the key is ${typeName(key)}; ${REMEDY}`);
    return prefix + joinParts(key as readonly unknown[] as readonly KeyPart[]);
  }

  /**
   * A key beside a main key, in the same hash slot: `shop:lock~queue:{shop:lock:order:7}`. A main key with a tag of its
   * own stands there whole and without further braces. A role always has the same number of parts, which keeps
   * the companions of different main keys apart.
   *
   * @param mainKey the whole main key, as {@link main}, {@link tagged} or {@link family} gave it
   * @throws InvalidKeyError when `mainKey` is not a key of this namespace
   */
  companion(pattern: string, role: string, mainKey: string, ...parts: KeyPart[]): string {
    if (!mainKey.startsWith(`${this.namespace}:`)) {
      throw new InvalidKeyError('a companion needs the whole main key, which begins with the namespace');
    }
    const anchor = mainKey.includes('{') ? mainKey : `{${mainKey}}`;
    let text = `${this.namespace}:${pattern}~${role}:${anchor}`;
    for (const part of parts) text += `:${escapePart(part)}`;
    return text;
  }

  /**
   * A key whose subject is the tag, so that all keys of one subject share a slot: `shop:ratelimit:api:{user:123}`. In
   * the subject `:` stays readable.
   */
  tagged(pattern: string, name: string, subject: string): string {
    return `${this.namespace}:${pattern}:${escapePart(name)}:{${escapeSubject(subject)}}`;
  }

  /**
   * What the keys of a series begin with, in one slot: `shop:counter:{views:42}`, to which `:2026-11-30` is added. A key with a
   * tag of its own keeps that.
   *
   * @throws InvalidKeyError as {@link main}
   */
  series(pattern: string, key: Key): string {
    const main = this.main(pattern, key);
    const prefix = this.prefix(pattern);
    return main.includes('{') ? main : `${prefix}{${main.slice(prefix.length)}}`;
  }

  /** A key of a family that one command reads together, with the name as the tag: `shop:unique:{visitors}:2026-11-30`. */
  family(pattern: string, name: string, ...parts: KeyPart[]): string {
    let text = `${this.namespace}:${pattern}:{${escapePart(name)}}`;
    for (const part of parts) text += `:${escapePart(part)}`;
    return text;
  }
}

const REMEDY = "give a non-empty text such as 'product:42', or an array such as ['product', id]";

function joinParts(parts: readonly KeyPart[]): string {
  const resource = parts[0];
  if (typeof resource !== 'string' || resource === '') {
    throw new InvalidKeyError(`an array key begins with its resource, a non-empty text; ${REMEDY}`);
  }
  let text = escapePart(resource);
  for (let index = 1; index < parts.length; index++) text += `:${escapePart(parts[index], index)}`;
  return text;
}

function checkLiteral(key: string): string {
  if (key === '') throw new InvalidKeyError(`the key is empty; ${REMEDY}`);
  if (!AT_MOST_ONE_TAG.test(key)) {
    throw new InvalidKeyError(
      "a text key may hold one non-empty {tag} and no other braces; write values as parts, ['product', value], to escape them",
    );
  }
  if (/\p{Cs}/u.test(key)) {
    throw new InvalidKeyError("the key holds half of a surrogate pair; write values as parts, ['product', value]");
  }
  return key;
}

function typeName(key: unknown): string {
  return key === null ? 'null' : typeof key;
}
