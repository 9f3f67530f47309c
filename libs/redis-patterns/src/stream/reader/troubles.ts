import { RedisCommandError, RedisUnavailableError } from '../../connection/index.js';
import { report, warn, type ReaderScope } from './scope.js';

/** States that do not end by themselves. */
const PERSISTENT = new Set(['WRONGTYPE', 'NOPERM', 'NOAUTH', 'WRONGPASS', 'ERR']);

/** Says once what keeps a reader from reading, until that is over. What the connection layer reports itself is not repeated. */
export class Troubles {
  #reported: string | undefined;

  constructor(private readonly scope: ReaderScope) {}

  /** @returns whether it needs somebody to repair it */
  happened(error: unknown): boolean {
    const word = wordOf(error);
    if (word === undefined || !PERSISTENT.has(word)) return false;
    if (this.#reported !== word) {
      this.#reported = word;
      report(
        this.scope,
        'ERR_STREAM_READER',
        `${this.scope.label} cannot be read: Redis answers ${word}. ${remedy(word)}`,
      );
    }
    return true;
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

/** First word of Redis' reply, if it was one: an error of ours or of ioredis. */
export function wordOf(error: unknown): string | undefined {
  if (error instanceof RedisUnavailableError || error instanceof RedisCommandError) return error.reply;
  return error instanceof Error ? /^[A-Z][A-Z0-9]+(?= |$)/.exec(error.message)?.[0] : undefined;
}

function remedy(word: string): string {
  if (word === 'WRONGTYPE') return 'Its key holds something else; choose another stream name or namespace.';
  if (word === 'NOPERM') return 'The Redis user lacks a permission; see the ACL table in the documentation.';
  if (word === 'ERR') return 'Check that the server is Redis 7.0 or newer.';
  return 'Check the credentials of the connection.';
}
