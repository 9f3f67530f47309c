import { InvalidOptionsError } from '../core/index.js';
import type { KeyBuilder, KeyPart } from '../keys/index.js';

/** How long the result of an operation is remembered, milliseconds. */
export const OPERATION_TTL = 600_000;

/**
 * The key that remembers an operation, or none. It belongs to the series and not to a bucket: what is repeated after midnight is found, too.
 *
 * @param parts what else tells operations with one name apart
 * @throws InvalidOptionsError
 */
export function operationKeys(
  keys: KeyBuilder,
  pattern: string,
  root: string,
  opId: string | undefined,
  where: string,
  ...parts: KeyPart[]
): string[] {
  if (opId === undefined) return [];
  if (typeof opId === 'string' && opId !== '') return [keys.companion(pattern, 'op', root, opId, ...parts)];
  throw new InvalidOptionsError(where, [{ path: 'opId', message: 'must be a text that names this very operation' }]);
}
