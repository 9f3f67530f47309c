import type { ClassTypes } from './class-types.js';
import { CodecError } from './codec.errors.js';

/**
 * Parses the text of plain JSON.
 *
 * @throws CodecError when it is not JSON or holds a `__proto__` key
 */
export function parseJson(text: string): unknown {
  const value = parse(text);
  if (mayHoldPrototypeKey(text)) refusePrototypeKeys(value);
  return value;
}

/**
 * Parses JSON and gives marked values their types back.
 *
 * @param types classes whose instances are given back as such
 * @throws CodecError when the text is not JSON, a mark is unknown or malformed, or a key is `__proto__`
 */
export function parseTypedJson(text: string, types?: ClassTypes): unknown {
  const value = parseJson(text);
  return text.includes('$') && text.includes('"$') ? guardDepth(() => revive(value, types)) : value;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Without the cause: its message quotes the text.
    throw new CodecError('the stored text is not JSON; it was cut short, or something else wrote it');
  }
}

/** Any letter of a key may be written as an escape, which `JSON.stringify` never does for letters. */
function mayHoldPrototypeKey(text: string): boolean {
  return text.includes('__proto__') || text.includes('\\u00');
}

function refusePrototypeKeys(value: unknown): void {
  guardDepth(() => visit(value));

  function visit(node: unknown): void {
    if (typeof node !== 'object' || node === null) return;
    if (Object.hasOwn(node, '__proto__')) {
      throw new CodecError(
        "the stored text has a key '__proto__', which no value of ours has; something else wrote it",
      );
    }
    for (const child of Object.values(node)) visit(child);
  }
}

/** Our own values are never so deep; a text that somebody else wrote may be deeper than the stack. */
function guardDepth<T>(walk: () => T): T {
  try {
    return walk();
  } catch (error) {
    if (error instanceof CodecError) throw error;
    throw new CodecError('the stored text is nested too deeply; something else wrote it');
  }
}

// The parsed value is ours alone, so types are put in place instead of copying everything.
function revive(value: unknown, types: ClassTypes | undefined): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return reviveItems(value, types);
  const record = value as Record<string, unknown>;
  return Object.hasOwn(record, '$') ? reviveMark(record.$, record.v, types) : reviveProperties(record, types);
}

function reviveItems(items: unknown[], types: ClassTypes | undefined): unknown[] {
  for (let index = 0; index < items.length; index++) {
    const item = items[index];
    if (typeof item === 'object' && item !== null) items[index] = revive(item, types);
  }
  return items;
}

function reviveProperties(record: Record<string, unknown>, types: ClassTypes | undefined): Record<string, unknown> {
  let hasEscapedKey = false;
  for (const key of Object.keys(record)) {
    if (key.startsWith('$$')) hasEscapedKey = true;
    const child = record[key];
    if (typeof child === 'object' && child !== null) record[key] = revive(child, types);
  }
  return hasEscapedKey ? unescapeKeys(record) : record;
}

function unescapeKeys(record: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(record).map(([key, value]) => [key.startsWith('$$') ? key.slice(1) : key, value]),
  );
}

function reviveMark(type: unknown, v: unknown, types: ClassTypes | undefined): unknown {
  switch (type) {
    case 'undefined':
      return undefined;
    case 'date':
      return reviveDate(v);
    case 'bigint':
      if (typeof v === 'string' && /^-?\d+$/.test(v)) return BigInt(v);
      break;
    case 'number':
      if (v === 'NaN' || v === 'Infinity' || v === '-Infinity' || v === '-0') return Number(v);
      break;
    case 'buffer':
      if (typeof v === 'string') return Buffer.from(v, 'base64');
      break;
    case 'bytes':
      if (typeof v === 'string') return new Uint8Array(Buffer.from(v, 'base64'));
      break;
    case 'set':
      if (Array.isArray(v)) return new Set(reviveItems(v, types));
      break;
    case 'map':
      if (Array.isArray(v) && v.every((entry) => Array.isArray(entry) && entry.length === 2)) {
        return new Map(reviveItems(v, types) as [unknown, unknown][]);
      }
      break;
    default:
      if (typeof type === 'string' && type.startsWith('class:')) return reviveInstance(type, v, types);
  }
  throw malformedMark(type);
}

function reviveInstance(type: string, v: unknown, types: ClassTypes | undefined): object {
  const prototype = types?.prototypeOf(type.slice('class:'.length));
  const isRecord = typeof v === 'object' && v !== null && !Array.isArray(v) && !Object.hasOwn(v, '$');
  if (prototype === undefined || !isRecord) throw malformedMark(type);
  // Assigning the properties to a new instance would run setters of the class with whatever the text says.
  return Object.setPrototypeOf(reviveProperties(v as Record<string, unknown>, types), prototype) as object;
}

function reviveDate(v: unknown): Date {
  const date = new Date(typeof v === 'string' ? v : NaN);
  if (Number.isNaN(date.getTime()) && v !== null) throw malformedMark('date');
  return date;
}

function malformedMark(type: unknown): CodecError {
  const name = typeof type === 'string' && /^[\w:.-]{1,40}$/.test(type) ? `'${type}'` : 'without a name';
  return new CodecError(
    `the stored text has an unknown or malformed mark ${name}; its class is not in 'types', or a newer release wrote it`,
  );
}
