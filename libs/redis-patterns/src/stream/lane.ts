import { runScript } from '../scripting/index.js';
import { laneScript } from './scripts.generated.js';
import type { KnownGroup } from './stream-book.js';

/** Where a key stands in a group with `ordering: 'key'`. */
export interface StreamLane {
  /** Id in the stream of the message whose turn it is: `ctx.id` of its handler. */
  readonly id: string;
  /** The consumer that runs it or is about to; `undefined` when none has it. */
  readonly consumer: string | undefined;
  /** Time until its next attempt, milliseconds; `undefined` when it waits for none. */
  readonly retryInMs: number | undefined;
  /** Messages of the key behind it that have been taken from the stream. */
  readonly waiting: number;
}

/** @returns `undefined` when nothing of the key is under way */
export async function readLane({ context, keys, group }: KnownGroup, key: string): Promise<StreamLane | undefined> {
  const [id, consumer, dueMs, waiting] = await runScript(
    context.connection,
    laneScript,
    [keys.retries, keys.due, keys.lanes, keys.parked],
    [group, key],
  );
  if (id === '') return undefined;
  return { id, consumer: consumer || undefined, retryInMs: dueMs < 0 ? undefined : dueMs, waiting };
}
