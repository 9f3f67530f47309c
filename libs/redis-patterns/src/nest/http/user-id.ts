/** What can name somebody in a key. */
export function isId(value: unknown): value is string | number | bigint {
  return (typeof value === 'string' && value !== '') || typeof value === 'bigint' || Number.isFinite(value);
}

/**
 * Who the user of a request is, as authentication has left it there: the first of `id`, `sub` and `userId` that can name
 * somebody. `undefined` when none can, such as an object of a database: its text may be the same for everybody.
 */
export function userIdOf(user: object): string | number | bigint | undefined {
  const { id, sub, userId } = user as { id?: unknown; sub?: unknown; userId?: unknown };
  return [id, sub, userId].find(isId);
}
