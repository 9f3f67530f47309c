import { LuaTable } from './table.js';
import { LuaError, type LuaValue } from './runtime.js';

type Json = string | number | boolean | null | Json[] | { readonly [name: string]: Json };

/** As `cjson.decode` and `cmsgpack.unpack` give it. */
export function decode(text: LuaValue): LuaValue {
  try {
    return fromJson(JSON.parse(String(text as string)) as Json);
  } catch {
    throw new LuaError('the text cannot be decoded');
  }
}

/** A text of a table; MessagePack is JSON here, which nobody but scripts of the same process reads. */
export function encode(value: LuaValue): string {
  return JSON.stringify(toJson(value));
}

function fromJson(value: Json): LuaValue {
  if (value === null) return undefined;
  if (typeof value !== 'object') return value;
  if (Array.isArray(value)) return LuaTable.of(value.map(fromJson));
  const table = new LuaTable();
  for (const [name, each] of Object.entries(value)) table.set(name, fromJson(each));
  return table;
}

function toJson(value: LuaValue): Json {
  if (!(value instanceof LuaTable)) return (value ?? null) as Json;
  const entries = value.entries();
  if (entries.length === value.length) return value.items.map(toJson);
  return Object.fromEntries(entries.map(([name, each]) => [String(name as string), toJson(each)]));
}
