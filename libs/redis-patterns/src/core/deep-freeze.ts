/**
 * Freezes plain objects and arrays all the way down. Class instances (clients, loggers, TLS contexts) stay as they are.
 *
 * @param except objects that belong to somebody else and stay as they are, with all that is in them
 */
export function deepFreeze<T>(value: T, except: ReadonlySet<unknown> = new Set()): T {
  if (!isContainer(value) || Object.isFrozen(value) || except.has(value)) return value;
  Object.freeze(value); // before the children, so that a cycle ends here
  for (const child of Object.values(value)) deepFreeze(child, except);
  return value;
}

/** Every plain object and array reachable from a value, and every class instance in them. */
export function objectsIn(value: unknown, found = new Set<unknown>()): Set<unknown> {
  if (typeof value !== 'object' || value === null || found.has(value)) return found;
  found.add(value);
  if (isContainer(value)) for (const child of Object.values(value)) objectsIn(child, found);
  return found;
}

function isContainer(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value)) return true;
  const prototype = Object.getPrototypeOf(value) as object | null;
  // The prototype of a plain object ends the chain, in whichever realm the object was made.
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
