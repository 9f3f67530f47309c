// Deeper values take the slow path, which looks for cycles.
const MAX_PLAIN_DEPTH = 100;

/**
 * Whether plain `JSON.stringify` keeps the value exactly. This scan is all that typed values cost when there are none,
 * so it checks the cheapest things first and stops at the first doubt; `false` only means "look closer".
 */
export function isPlainJson(value: unknown, depth = 0): boolean {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return true;
    case 'number':
      return isPlainNumber(value);
    case 'object':
      if (value === null) return true;
      if (depth > MAX_PLAIN_DEPTH) return false;
      return Array.isArray(value) ? isPlainArray(value, depth + 1) : isPlainObject(value, depth + 1);
    default:
      return false;
  }
}

/** Whether JSON has the number: not NaN, not infinite, not -0. */
export function isPlainNumber(value: number): boolean {
  return value - value === 0 && (value !== 0 || 1 / value > 0);
}

function isPlainArray(items: readonly unknown[], depth: number): boolean {
  if (Object.getPrototypeOf(items) !== Array.prototype) return false;
  for (let index = 0; index < items.length; index++) {
    if (!isPlainJson(items[index], depth)) return false;
  }
  return true;
}

function isPlainObject(value: object, depth: number): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return false;
  for (const key in value) {
    if (key.charCodeAt(0) === 0x24 /* $ */ || key === '__proto__') return false;
    if (!isPlainJson((value as Record<string, unknown>)[key], depth)) return false;
  }
  return Object.getOwnPropertySymbols(value).length === 0;
}
