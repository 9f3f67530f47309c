/** Of objects that tell a handler of the one delivery it works on. */
const CALL_CONTEXT = Symbol('call context');

/**
 * Marks what comes with a message beside its body: each delivery has another, so it is no part of what names the work.
 *
 * @returns the same object
 */
export function asCallContext<T extends object>(context: T): T {
  return Object.defineProperty(context, CALL_CONTEXT, { value: true });
}

export function isCallContext(value: unknown): boolean {
  return typeof value === 'object' && value !== null && CALL_CONTEXT in value;
}
