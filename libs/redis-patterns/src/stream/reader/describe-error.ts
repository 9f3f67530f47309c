const MAX_ERROR_TEXT = 1000;
const MAX_STACK = 4000;

/** Name and message; the stack, which shows paths, only where somebody asked for it. */
export function describeError(error: unknown, stack = false): string {
  if (error === undefined) return '';
  if (stack && error instanceof Error && error.stack !== undefined) return error.stack.slice(0, MAX_STACK);
  const text = error instanceof Error ? `${error.name}: ${error.message}` : error;
  return (typeof text === 'string' ? text : `a value of type ${typeof text}`).slice(0, MAX_ERROR_TEXT);
}
