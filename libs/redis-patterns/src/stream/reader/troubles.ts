import { RedisCommandError, RedisUnavailableError } from '../../connection/index.js';
import { report, warn, type ReaderScope } from './scope.js';

/**
 * What a reader does after a failed read, beside waiting:
 * - `ensure`: the group or the stream is gone, so it is created again;
 * - `reset`: the socket is at the wrong server, so it is dropped and the server looked for anew;
 * - `wait`: it passes by itself; `repair`: somebody has to repair it; `leave`: others have to leave first.
 */
export type Cure = 'ensure' | 'reset' | 'wait' | 'repair' | 'leave';

/** By the first word of what Redis answers to a blocked read. All else is a lost link, which the connection heals. */
const CURES: Readonly<Record<string, Cure>> = {
  // The group does not exist; from 7.2 on also when the stream was deleted while a read was blocked.
  NOGROUP: 'ensure',
  // Of CLIENT UNBLOCK ERROR and of a master that became a replica. 7.0 says it for a deleted stream, too: see below.
  UNBLOCKED: 'reset',
  READONLY: 'reset',
  // ioredis follows a redirect; one that comes through says that its map of the slots is old.
  MOVED: 'reset',
  ASK: 'wait',
  LOADING: 'wait',
  MASTERDOWN: 'wait',
  CLUSTERDOWN: 'wait',
  TRYAGAIN: 'wait',
  BUSY: 'wait',
  NOREPLICAS: 'wait',
  OOM: 'wait',
  WRONGTYPE: 'repair',
  NOPERM: 'repair',
  NOAUTH: 'repair',
  WRONGPASS: 'repair',
  ERR: 'repair',
};

/** Consumers with another `ordering` live in the group. */
export class OrderingConflictError extends Error {
  constructor(label: string, ordering: string) {
    super(
      `${label} is not read: consumers with another 'ordering' than '${ordering}' live in this group. Give all of them the same, ` +
        `or stop the others: then this one begins by itself.`,
    );
  }
}

export function cureOf(error: unknown): Cure {
  if (error instanceof OrderingConflictError) return 'leave';
  const word = wordOf(error);
  if (word === undefined) return 'wait';
  if (word === 'UNBLOCKED' && error instanceof Error && error.message.includes('no longer exists')) return 'ensure';
  return Object.hasOwn(CURES, word) ? CURES[word]! : 'wait';
}

/** Says once what keeps a reader from reading, until that is over. What the connection layer reports itself is not repeated. */
export class Troubles {
  #reported: string | undefined;

  constructor(private readonly scope: ReaderScope) {}

  /** What somebody has to repair before this reader reads again. */
  get needsRepair(): string | undefined {
    return this.#reported;
  }

  happened(error: unknown): Cure {
    const cure = cureOf(error);
    const word = wordOf(error);
    const isLasting = cure === 'repair' || cure === 'leave';
    if (!isLasting || word === undefined || word === this.#reported) return cure;
    this.#reported = word;
    const text =
      error instanceof OrderingConflictError
        ? error.message
        : `${this.scope.label} cannot be read: Redis answers ${word}. ${remedy(word)}`;
    report(this.scope, 'ERR_STREAM_READER', text);
    return cure;
  }

  deadSocket(): void {
    const { label } = this.scope;
    warn(
      this.scope,
      'ERR_STREAM_DEAD_SOCKET',
      `The socket that reads ${label} was dead and is replaced; nothing is lost.`,
    );
  }

  over(): void {
    this.#reported = undefined;
  }
}

/** First word of Redis' reply, if it was one: an error of the connection or of ioredis. `ORDERING` for ours. */
function wordOf(error: unknown): string | undefined {
  if (error instanceof OrderingConflictError) return 'ORDERING';
  if (error instanceof RedisUnavailableError || error instanceof RedisCommandError) return error.reply;
  return error instanceof Error ? /^[A-Z][A-Z0-9]+(?= |$)/.exec(error.message)?.[0] : undefined;
}

function remedy(word: string): string {
  if (word === 'WRONGTYPE') return 'Its key holds something else; choose another stream name or namespace.';
  if (word === 'NOPERM') return 'The Redis user lacks a permission; see the ACL table in the documentation.';
  if (word === 'ERR') return 'Check that the server is Redis 7.0 or newer.';
  return 'Check the credentials of the connection.';
}
