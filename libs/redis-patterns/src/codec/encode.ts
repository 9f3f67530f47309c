import { isDate, isMap, isSet, isUint8Array } from 'node:util/types';
import type { ClassTypes } from './class-types.js';
import { CodecError } from './codec.errors.js';
import { isPlainNumber } from './plain.js';

const MAX_DEPTH = 500;

/** What JSON lacks is written as an object whose key `$` names the type. */
export type Mark = 'date' | 'map' | 'set' | 'bigint' | 'buffer' | 'bytes' | 'number' | 'undefined' | `class:${string}`;

interface Place {
  readonly types: ClassTypes | undefined;
  readonly path: PropertyKey[];
  readonly ancestors: object[];
}

/**
 * A copy of the value in which everything that JSON would lose or change is marked.
 *
 * @param types classes whose instances are kept
 * @throws CodecError for functions, symbols, cycles, other class instances, holes in arrays, symbol and `__proto__` keys
 */
export function markTypes(value: unknown, types?: ClassTypes): unknown {
  return mark(value, { types, path: [], ancestors: [] });
}

function mark(value: unknown, place: Place): unknown {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value;
    case 'number':
      return isPlainNumber(value) ? value : marked('number', Object.is(value, -0) ? '-0' : String(value));
    case 'bigint':
      return marked('bigint', String(value));
    case 'undefined':
      return marked('undefined');
    case 'object':
      return value === null ? null : markNested(value, place);
    default:
      throw refused(place, `it is a ${typeof value}`, 'remove it');
  }
}

function marked(type: Mark, v?: unknown): { $: Mark; v?: unknown } {
  return v === undefined ? { $: type } : { $: type, v };
}

function markNested(value: object, place: Place): unknown {
  if (place.ancestors.includes(value)) throw refused(place, 'it refers back to an object around it', 'break the cycle');
  if (place.ancestors.length >= MAX_DEPTH)
    throw refused(place, `it lies deeper than ${MAX_DEPTH} levels`, 'flatten it');
  place.ancestors.push(value);
  const copy = Array.isArray(value) ? markArray(value, place) : markObject(value, place);
  place.ancestors.pop();
  return copy;
}

function markAt(value: unknown, part: PropertyKey, place: Place): unknown {
  // Most values; their path is of no interest.
  if (typeof value === 'string') return value;
  place.path.push(part);
  const copy = mark(value, place);
  place.path.pop();
  return copy;
}

function markArray(items: readonly unknown[], place: Place): unknown[] {
  if (classDepth(items) !== 2) throw refusedInstance(items, place);
  return Array.from(items, (item, index) => {
    if (item === undefined && !(index in items)) {
      place.path.push(index);
      throw refused(place, 'it is a hole in an array', 'fill it');
    }
    return markAt(item, index, place);
  });
}

function markObject(value: object, place: Place): unknown {
  const type = place.types?.nameOf(value);
  if (type !== undefined) return marked(`class:${type}`, markProperties(value, place));
  if (isPlain(value)) return markProperties(value, place);
  const depth = classDepth(value);
  if (depth === 2 && isDate(value)) return marked('date', Number.isNaN(value.getTime()) ? null : value.toISOString());
  if (depth === 2 && isMap(value)) {
    return marked(
      'map',
      Array.from(value, (entry, index) => markAt(entry, index, place)),
    );
  }
  if (depth === 2 && isSet(value)) {
    return marked(
      'set',
      Array.from(value, (item, index) => markAt(item, index, place)),
    );
  }
  if (isUint8Array(value) && depth === (Buffer.isBuffer(value) ? 4 : 3)) {
    const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
    return marked(Buffer.isBuffer(value) ? 'buffer' : 'bytes', bytes.toString('base64'));
  }
  throw refusedInstance(value, place);
}

function markProperties(value: object, place: Place): Record<string, unknown> {
  if (Object.getOwnPropertySymbols(value).some((symbol) => Object.prototype.propertyIsEnumerable.call(value, symbol))) {
    throw refused(place, 'it has symbol keys', 'name its properties by text');
  }
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    if (key === '__proto__') throw refused(place, "it has a key '__proto__'", 'remove that key');
    copy[key.charCodeAt(0) === 0x24 /* $ */ ? `$${key}` : key] = markAt(
      (value as Record<string, unknown>)[key],
      key,
      place,
    );
  }
  return copy;
}

/**
 * How many prototypes a value has: 1 for a plain object, 2 for a built-in class such as Date, more for subclasses. Unlike
 * a comparison with `Object.prototype` this also holds for objects of another realm (`node:vm`, test runners).
 */
function classDepth(value: object): number {
  let depth = 0;
  for (let next: unknown = Object.getPrototypeOf(value); next !== null; next = Object.getPrototypeOf(next)) depth++;
  return depth;
}

function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value) as object | null;
  if (prototype === null || prototype === Object.prototype) return true;
  if (Object.getPrototypeOf(prototype) !== null) return false;
  // That of another realm ends the chain as well, and an empty one gives an object nothing; that of a class has a constructor.
  return Object.hasOwn(prototype, 'isPrototypeOf') || Reflect.ownKeys(prototype).length === 0;
}

function refusedInstance(value: object, place: Place): CodecError {
  const { constructor } = value as { constructor?: unknown };
  const name = typeof constructor === 'function' && constructor.name !== '' ? constructor.name : 'a class';
  const remedy = 'give a plain object, for example { ...instance }';
  if (place.types === undefined) return refused(place, `it is an instance of ${name}`, remedy);
  if (place.types.prototypeOf(name) !== undefined) {
    return refused(place, `it is an instance of another class ${name} than the one in 'types'`, remedy);
  }
  return refused(place, `it is an instance of ${name}`, `list its class in the option 'types', or ${remedy}`);
}

function refused({ path }: Place, why: string, remedy: string): CodecError {
  const where = path.reduce<string>((text, part) => {
    if (typeof part === 'string' && /^[\w$]+$/.test(part)) return `${text}.${part}`;
    return `${text}[${typeof part === 'string' ? JSON.stringify(part) : String(part)}]`;
  }, 'value');
  return new CodecError(`cannot encode ${where}: ${why}; ${remedy}`, where);
}
