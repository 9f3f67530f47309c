import { runScript } from '../../scripting/index.js';
import { startScript } from '../scripts.generated.js';
import type { Held } from './held.js';
import type { HeldEntry } from './held-entry.js';
import type { Moves } from './moves.js';
import type { ReaderScope } from './scope.js';
import type { Acks } from './settle.js';
import { isSuspect } from './waiting.js';

/** `'run'`; `'later'`: Redis did not answer; `'dropped'`: it is not ours to run. */
export type Permission = 'run' | 'later' | 'dropped';

/**
 * Counts the starts of what was delivered before, so that a message that ends its process cannot do so for ever. A delivery
 * alone counts nothing.
 */
export class Starts {
  constructor(
    private readonly scope: ReaderScope,
    private readonly held: Held,
    private readonly acks: Acks,
    private readonly moves: Moves,
  ) {}

  async allow(entry: HeldEntry): Promise<Permission> {
    const { context, group, consumer, options } = this.scope;
    if (entry.unfinishedStarts >= options.maxDeliveries) {
      this.moves.bury(entry, 'max-deliveries', undefined);
      return 'dropped';
    }
    // Should this start end the process, what is done already must not be counted as begun once more.
    if (isSuspect(entry)) await this.acks.allConfirmed(context.connection.commandTimeout);
    if (!entry.redelivered) return 'run';
    const count = entry.count + 1;
    let reply: -1 | 0 | 1;
    try {
      reply = await runScript(context.connection, startScript, [entry.plane.key], [group, consumer, entry.id, count]);
    } catch {
      // The gate has reported it. Not a failed attempt: the handler did not run.
      return 'later';
    }
    if (reply === -1) {
      this.held.remove(entry);
      return 'dropped';
    }
    entry.gone ||= reply === 0;
    entry.count = count;
    entry.redelivered = false;
    return 'run';
  }
}
