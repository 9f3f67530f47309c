import { runScript } from '../scripting/index.js';
import { toRecord } from './message.js';
import { trimScript } from './scripts.generated.js';
import type { KnownStream } from './stream-book.js';
import { groupKeys } from './stream-keys.js';

/** Entries of one call: so many take Redis about a tenth of a millisecond. */
const LIMIT = 1000;
/** Calls of one trimming; the next one goes on. */
const MAX_CALLS = 1000;

export interface TrimResult {
  /** Entries that were removed; -1 when somebody has looked lately. */
  readonly removed: number;
  readonly length: number;
  /** Groups that nobody has served for `abandonAfter`: they hold nothing back any more. */
  readonly abandoned: readonly string[];
}

export interface TrimOptions {
  readonly abandonAfter: number;
  /** At most one look of all processes in that time, milliseconds; 0: look in any case. */
  readonly interval: number;
  /** Instead of those of the retention. */
  readonly maxLen?: number | undefined;
  readonly maxAge?: number | undefined;
}

/**
 * Removes what all groups have finished, above the retention. Redis removes whole nodes (`MINID ~`) below the oldest entry
 * that a group still needs, and never more than the excess (`LIMIT`), so that no body need be read to find the place.
 */
export async function trimStream(stream: KnownStream, options: TrimOptions): Promise<TrimResult> {
  const { context, keys, retention, name } = stream;
  const { maxLen = retention.maxLen, maxAge = retention.maxAge, abandonAfter } = options;
  const groups = await groupNames(stream);
  const members = groups.map((group) => groupKeys(context.keys, name, group).members);
  let removed = 0;
  for (let call = 0; ; call++) {
    const interval = call === 0 ? options.interval : 0;
    const [now, length, abandoned] = await runScript(
      context.connection,
      trimScript,
      [keys.stream, keys.meta, ...members],
      [maxLen, maxAge, abandonAfter, interval, LIMIT, ...groups],
    );
    if (now < 0) return { removed: now, length, abandoned };
    removed += now;
    if (now === 0 || call === MAX_CALLS) return { removed, length, abandoned };
  }
}

async function groupNames({ context, keys }: KnownStream): Promise<string[]> {
  try {
    const reply = await context.connection.run({
      name: 'stream.groups',
      effect: 'read',
      key: keys.stream,
      send: (client) => client.xinfo('GROUPS', keys.stream),
    });
    return (reply as unknown[]).map((item) => String(toRecord(item).name));
  } catch (error) {
    if (error instanceof Error && error.message.includes('no such key')) return [];
    throw error;
  }
}
