import type { Key } from './key-builder.js';

/**
 * A key without its values, for telemetry: `['product', 42]` is `product:{}`. Of a text nobody knows which part is a value, so that
 * it has none.
 */
export function keyTemplate(key: Key): string | undefined {
  if (!Array.isArray(key) || typeof key[0] !== 'string') return undefined;
  return key[0] + ':{}'.repeat(key.length - 1);
}
