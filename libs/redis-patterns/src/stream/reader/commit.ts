import { runScript } from '../../scripting/index.js';
import { commitOrderedScript, commitScript } from '../scripts.generated.js';
import { LeaseLostError } from '../stream.errors.js';
import type { StreamTransaction } from '../transaction.js';
import type { Held } from './held.js';
import type { HeldEntry } from './held-entry.js';
import type { ReaderScope } from './scope.js';

/** Runs the commands of a handler and acknowledges its entry. @throws LeaseLostError when another consumer has it */
export async function commit(
  scope: ReaderScope,
  held: Held,
  entry: HeldEntry,
  { keys, commands }: StreamTransaction,
): Promise<void> {
  const { context, group, consumer, label, options } = scope;
  const { plane, id, originalId } = entry;
  const { lanes, parked } = scope.keys;
  // The first one is that of the stream, which is where the entry came from but need not be where it is.
  const [, ...own] = keys;
  const reply = await (options.ordering === 'key'
    ? runScript(
        context.connection,
        commitOrderedScript,
        [plane.key, ...own, lanes, parked],
        [group, consumer, id, commands],
      )
    : runScript(context.connection, commitScript, [plane.key, ...own], [group, consumer, id, plane.isRetry, commands]));
  if (reply < 0) throw new LeaseLostError(originalId, label);
  held.remove(entry);
}
