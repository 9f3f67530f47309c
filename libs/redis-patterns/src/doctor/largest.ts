/** The largest number, or 0. Those of all keys would be too many for `Math.max(...)`: arguments lie on the stack. */
export function largest(values: Iterable<number>): number {
  let found = 0;
  for (const value of values) found = Math.max(found, value);
  return found;
}
