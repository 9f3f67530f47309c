/**
 * What a key lacks that must name exactly one thing, as an end of a sentence: with nothing in one of its parts it would name the
 * same thing for everybody. `undefined` when it lacks nothing.
 *
 * @example
 * ```ts
 * missingInKey(['payment', undefined]); // 'has nothing in part 1'
 * ```
 */
export function missingInKey(key: unknown): string | undefined {
  if (typeof key === 'string') return key === '' ? 'is empty' : undefined;
  if (key instanceof Promise) return 'is a promise';
  if (!Array.isArray(key)) return `is ${key === null ? 'null' : typeof key}`;
  if (key.length === 0) return 'is empty';
  const index = key.findIndex((part: unknown) => part === undefined || part === null || part === '');
  return index === -1 ? undefined : `has nothing in part ${index}`;
}
