import { runScript } from '../scripting/index.js';
import { parseAdmin } from './admin.options.js';
import { decodeHeaders, readFields, toRecord } from './message.js';
import { replayScript } from './scripts.generated.js';
import type { KnownGroup, PayloadCodec } from './stream-book.js';

/** A message that a group could not process. */
export interface DeadLetter {
  /** Id of the dead letter. */
  readonly id: string;
  /** Id of the entry in the stream. */
  readonly originalId: string;
  readonly messageId: string;
  readonly type: string | undefined;
  readonly key: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** `undefined` also where the payload cannot be decoded. */
  readonly body: unknown;
  /** `max-attempts`, `max-deliveries`, `unrecoverable`, `validation`, `decode`, `oversize`, `unknown-type` or `handler`. */
  readonly reason: string;
  readonly error: string;
  readonly attempts: number;
  readonly deliveries: number;
  readonly firstFailedAt: Date;
  readonly at: Date;
}

/** Which dead letters. */
export interface DeadLetterSelection {
  /** Ids of dead letters. Default: all that there are now. */
  ids?: readonly string[];
}

/** One page of dead letters. */
export interface DeadLetterPage {
  /** 1 or more; they come in one reply, with their payloads. Default 100. */
  limit?: number;
  /** Id of the last one of the page before. Default: the newest ones. */
  before?: string;
}

/** The dead letters of one group. */
export interface DeadLetters {
  count(): Promise<number>;
  /** The newest first. @throws InvalidOptionsError */
  list(page?: DeadLetterPage): Promise<DeadLetter[]>;
  /**
   * Gives them to the group once more, as if they had never been tried, and removes them here.
   *
   * @returns how many
   * @throws InvalidOptionsError
   * @throws RedisUnavailableError; with outcome `'unknown'` some may have been replayed: what is still listed was not
   */
  replay(selection?: DeadLetterSelection): Promise<number>;
  /**
   * Removes them for good.
   *
   * @returns how many
   * @throws InvalidOptionsError
   */
  purge(selection?: DeadLetterSelection): Promise<number>;
}

/** Ids of one call. */
const CHUNK = 100;

/** @internal */
export class GroupDeadLetters implements DeadLetters {
  constructor(
    private readonly known: KnownGroup,
    private readonly ttl: number,
  ) {}

  count(): Promise<number> {
    const { deadLetters } = this.known.keys;
    return this.#read('stream.dead-letters', (client) => client.xlen(deadLetters));
  }

  async list(options: DeadLetterPage = {}): Promise<DeadLetter[]> {
    const { limit, before } = parseAdmin.page(options);
    const { deadLetters } = this.known.keys;
    const end = before === undefined ? '+' : `(${before}`;
    const found = await this.#read('stream.dead-letters', (client) =>
      client.xrevrange(deadLetters, end, '-', 'COUNT', limit),
    );
    return (found as [string, string[]][]).map(([id, fields]) => toDeadLetter(id, fields, this.known.codec));
  }

  async replay(selection: DeadLetterSelection = {}): Promise<number> {
    const { context, keys } = this.known;
    let replayed = 0;
    for await (const ids of this.#pages(parseAdmin.selection(selection, 'replay'))) {
      replayed += await runScript(
        context.connection,
        replayScript,
        [keys.deadLetters, keys.retries, keys.meta, keys.lanes, keys.parked],
        [1, this.ttl, this.known.group, ...ids],
      );
    }
    return replayed;
  }

  async purge(selection: DeadLetterSelection = {}): Promise<number> {
    const { context, keys } = this.known;
    let purged = 0;
    for await (const ids of this.#pages(parseAdmin.selection(selection, 'purge'))) {
      purged += await context.connection.run({
        name: 'stream.purge',
        effect: 'idempotent',
        key: keys.deadLetters,
        send: (client) => client.xdel(keys.deadLetters, ...ids),
      });
    }
    return purged;
  }

  /** The oldest first; not those that come meanwhile, so that a replay of what fails again comes to an end. */
  async *#pages({ ids }: { readonly ids?: readonly string[] | undefined }): AsyncIterable<string[]> {
    if (ids !== undefined) {
      for (let from = 0; from < ids.length; from += CHUNK) yield ids.slice(from, from + CHUNK);
      return;
    }
    const { deadLetters } = this.known.keys;
    const [newest] = await this.list({ limit: 1 });
    if (newest === undefined) return;
    for (let from = '-'; ;) {
      const start = from;
      const page = (await this.#read('stream.dead-letters', (client) =>
        client.xrange(deadLetters, start, newest.id, 'COUNT', CHUNK),
      )) as [string, unknown][];
      if (page.length > 0) yield page.map(([id]) => id);
      if (page.length < CHUNK) return;
      from = `(${page.at(-1)![0]}`;
    }
  }

  #read<T>(name: string, send: Parameters<KnownGroup['context']['connection']['run']>[0]['send']): Promise<T> {
    const { context, keys } = this.known;
    return context.connection.run({ name, effect: 'read', key: keys.deadLetters, send }) as Promise<T>;
  }
}

function toDeadLetter(id: string, fields: string[], codec: PayloadCodec): DeadLetter {
  const facts = toRecord(fields) as Record<string, string | undefined>;
  const message = readFields(fields);
  const originalId = facts['x-dlq-id'] ?? '';
  return {
    id,
    originalId,
    messageId: message.messageId ?? originalId,
    type: message.type,
    key: message.key,
    headers: orElse(() => decodeHeaders(message.headers), {}),
    body: orElse(() => codec.decode(message.data ?? ''), undefined),
    reason: facts['x-dlq-reason'] ?? '',
    error: facts['x-dlq-error'] ?? '',
    attempts: Number(facts['x-dlq-attempt'] ?? 0),
    deliveries: Number(facts['x-dlq-deliveries'] ?? 0),
    firstFailedAt: new Date(Number(facts['x-dlq-first-failed'] ?? 0)),
    at: new Date(Number(facts['x-dlq-at'] ?? 0)),
  };
}

/** A dead letter may be one because it cannot be decoded. */
function orElse<T>(decode: () => T, otherwise: T): T {
  try {
    return decode();
  } catch {
    return otherwise;
  }
}
