import type { EngineContext } from '../connection/index.js';
import { runScript } from '../scripting/index.js';
import { figuresScript } from './scripts.generated.js';
import type { GroupKeys } from './stream-keys.js';

/** How far a group has come. */
export interface StreamLag {
  /** Entries that were not delivered yet; `undefined` when Redis cannot tell. */
  readonly lag: number | undefined;
  /** Entries that were delivered and are not done; without those that `retries` counts. */
  readonly pending: number;
  /** Messages that wait for another attempt, or are in one; with `ordering: 'key'` only those that wait. */
  readonly retries: number;
  readonly deadLetters: number;
  /** Age of the oldest entry of the stream that is not done, milliseconds; 0 when all is done. */
  readonly oldestMs: number;
  /** Consumers that are alive. */
  readonly members: number;
  /** Of `pending`, messages that wait for an earlier one of their key: `ordering: 'key'`. */
  readonly parked: number;
}

/** @returns `undefined` when the group does not exist */
export async function readFigures(
  { connection }: EngineContext,
  keys: GroupKeys,
  group: string,
): Promise<StreamLag | undefined> {
  const [lag, pending, retries, deadLetters, oldestMs, members, parked] = await runScript(
    connection,
    figuresScript,
    [keys.stream, keys.retries, keys.due, keys.deadLetters, keys.members, keys.lanes, keys.parked],
    [group],
  );
  if (pending < 0) return undefined;
  return { lag: lag < 0 ? undefined : lag, pending, retries, deadLetters, oldestMs, members, parked };
}
