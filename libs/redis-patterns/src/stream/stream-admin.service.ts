import { RedisCommandError, type EngineContext, type RedisClient, type RedisConnection } from '../connection/index.js';
import type { Duration } from '../core/duration.js';
import { InvalidOptionsError } from '../core/errors.js';
import { runScript } from '../scripting/index.js';
import { parseAdmin, type ReplayRange, type TrimLimits } from './admin.options.js';
import { GroupDeadLetters, type DeadLetters } from './dead-letters.js';
import { readFigures, type StreamLag } from './figures.js';
import { readLane, type StreamLane } from './lane.js';
import { toRecord } from './message.js';
import { deleteGroupScript, replayScript } from './scripts.generated.js';
import { StreamBook } from './stream-book.js';
import type { StreamName } from './stream-definition.js';
import { GroupInUseError } from './stream.errors.js';
import type { ResolvedStreamOptions } from './stream.options.js';
import { trimStream } from './trimming.js';

/** A stream as a whole. */
export interface StreamInfo {
  readonly length: number;
  readonly firstId: string | undefined;
  readonly lastId: string;
  readonly groups: number;
  /** Delayed messages that are not due yet. */
  readonly delayed: number;
}

export interface StreamGroupInfo {
  readonly name: string;
  readonly consumers: number;
  /** Entries that were delivered and not acknowledged. */
  readonly pending: number;
  readonly lastDeliveredId: string;
  /** Entries that were not delivered yet; `undefined` when Redis cannot tell. */
  readonly lag: number | undefined;
  readonly paused: boolean;
}

export interface StreamPendingInfo {
  readonly count: number;
  readonly lowestId: string | undefined;
  readonly highestId: string | undefined;
  readonly consumers: readonly { readonly name: string; readonly count: number }[];
}

/** Ids of one call. */
const CHUNK = 100;

/**
 * Looks at streams, and repairs them.
 *
 * @example
 * ```ts
 * const { lag, retries, deadLetters } = (await admin.lag('orders', 'billing'))!;
 * await admin.deadLetters('orders', 'billing').replay();
 * ```
 */
export class StreamAdmin {
  readonly #book: StreamBook;

  constructor(
    context: EngineContext,
    private readonly options: ResolvedStreamOptions,
    connectionOf?: (name: string) => RedisConnection,
  ) {
    this.#book = new StreamBook(context, options, connectionOf);
  }

  /** @returns `undefined` when the stream does not exist */
  async info(stream: StreamName): Promise<StreamInfo | undefined> {
    const { keys } = this.#book.get(stream);
    const [reply, delayed] = await Promise.all([
      this.#read(stream, 'stream.info', (client) => client.xinfo('STREAM', keys.stream)),
      this.#read(stream, 'stream.delayed', (client) => client.zcard(keys.delayed)),
    ]);
    if (reply === undefined) return undefined;
    const info = toRecord(reply);
    return {
      length: Number(info.length),
      firstId: (info['first-entry'] as [string, ...unknown[]] | null)?.[0],
      lastId: String(info['last-generated-id']),
      groups: Number(info.groups),
      delayed: Number(delayed),
    };
  }

  /** @returns none when the stream does not exist */
  async groups(stream: StreamName): Promise<StreamGroupInfo[]> {
    const { keys } = this.#book.get(stream);
    const reply = await this.#read(stream, 'stream.groups', (client) => client.xinfo('GROUPS', keys.stream));
    const groups = ((reply ?? []) as unknown[]).map((item) => toRecord(item));
    return Promise.all(
      groups.map(async (group) => ({
        name: String(group.name),
        consumers: Number(group.consumers),
        pending: Number(group.pending),
        lastDeliveredId: String(group['last-delivered-id']),
        lag: typeof group.lag === 'number' ? group.lag : undefined,
        paused: await this.#isPaused(stream, String(group.name)),
      })),
    );
  }

  /**
   * How far a group has come, retries and dead letters included.
   *
   * @returns `undefined` when the stream or the group does not exist
   */
  async lag(stream: StreamName, group: string): Promise<StreamLag | undefined> {
    const { context, keys } = this.#book.group(stream, group);
    return readFigures(context, keys, group);
  }

  /**
   * Where a key stands in a group with `ordering: 'key'`: what holds it up, and who has that.
   *
   * @returns `undefined` when no message of the key has been taken from the stream and is not done
   */
  async lane(stream: StreamName, group: string, key: string): Promise<StreamLane | undefined> {
    if (typeof key !== 'string' || key === '') {
      throw new InvalidOptionsError('StreamAdmin.lane', [{ path: 'key', message: 'must be a key that was published' }]);
    }
    return readLane(this.#book.group(stream, group), key);
  }

  /** @returns `undefined` when the stream or the group does not exist */
  async pending(stream: StreamName, group: string): Promise<StreamPendingInfo | undefined> {
    const { keys } = this.#book.group(stream, group);
    const reply = await this.#read(stream, 'stream.pending', (client) => client.xpending(keys.stream, group));
    if (reply === undefined) return undefined;
    const [count, lowestId, highestId, consumers] = reply as [
      number,
      string | null,
      string | null,
      [string, string | number][] | null,
    ];
    return {
      count,
      lowestId: lowestId ?? undefined,
      highestId: highestId ?? undefined,
      consumers: (consumers ?? []).map(([name, held]) => ({ name, count: Number(held) })),
    };
  }

  /**
   * Has all consumers of a group start nothing new, within about a second; what runs goes on. Messages wait, and hold back the
   * trimming.
   *
   * @param options `for`: time after which it goes on by itself; default `abandonAfter`
   */
  async pause(stream: StreamName, group: string, options: { for?: Duration } = {}): Promise<void> {
    const { keys, context } = this.#book.group(stream, group);
    const { for: ms = this.options.abandonAfter } = parseAdmin.pause(options);
    await context.connection.run({
      name: 'stream.pause',
      effect: 'idempotent',
      key: keys.paused,
      send: (client) => client.set(keys.paused, '1', 'PX', ms),
    });
  }

  /** Ends a pause. @returns whether there was one */
  async resume(stream: StreamName, group: string): Promise<boolean> {
    const { keys, context } = this.#book.group(stream, group);
    const ended = await context.connection.run({
      name: 'stream.resume',
      effect: 'idempotent',
      key: keys.paused,
      send: (client) => client.unlink(keys.paused),
    });
    return ended === 1;
  }

  /**
   * Gives entries that are still in the stream to one group once more, done or not, as if they had never been tried. No other
   * group notices.
   *
   * @param range default: all that there are now
   * @returns how many
   * @throws InvalidOptionsError
   */
  async replay(stream: StreamName, group: string, range: ReplayRange = {}): Promise<number> {
    const { context, keys } = this.#book.group(stream, group);
    const { from: first = '-', to, limit: most = Infinity } = parseAdmin.replay(range);
    const last = to ?? (await this.info(stream))?.lastId ?? '0-0';
    let replayed = 0;
    for (let [from, left] = [first, most]; left > 0;) {
      const [start, count] = [from, Math.min(CHUNK, left)];
      const page = (await this.#read(stream, 'stream.range', (client) =>
        client.xrange(keys.stream, start, last, 'COUNT', count),
      )) as [string, unknown][];
      const ids = page.map(([id]) => id);
      if (ids.length === 0) break;
      const args = [0, this.options.abandonAfter, group, ...ids] as const;
      const touched = [keys.stream, keys.retries, keys.meta, keys.lanes, keys.parked] as const;
      replayed += await runScript(context.connection, replayScript, [...touched], [...args]);
      left -= ids.length;
      from = `(${ids.at(-1)!}`;
    }
    return replayed;
  }

  /** The dead letters of a group. */
  deadLetters(stream: StreamName, group: string): DeadLetters {
    return new GroupDeadLetters(this.#book.group(stream, group), this.options.abandonAfter);
  }

  /**
   * Removes now what the retention removes from time to time: never what a group has not finished.
   *
   * @param limits instead of those of the retention
   * @throws InvalidOptionsError
   * @returns how many entries; whole nodes go, so up to a hundred more than `maxLen` stay
   */
  async trim(stream: StreamName, limits: TrimLimits = {}): Promise<number> {
    const { maxLen, maxAge } = parseAdmin.trim(limits);
    const { abandonAfter } = this.options;
    const { removed } = await trimStream(this.#book.get(stream), { abandonAfter, interval: 0, maxLen, maxAge });
    return removed;
  }

  /**
   * Deletes a group for good, with its retries and dead letters.
   *
   * @returns whether there was one
   * @throws GroupInUseError while a consumer of it lives
   */
  async deleteGroup(stream: StreamName, group: string): Promise<boolean> {
    const { context, keys, name } = this.#book.group(stream, group);
    const { retries, due, dueBody, deadLetters, floor, paused, lanes, parked } = keys;
    const reply = await runScript(
      context.connection,
      deleteGroupScript,
      [keys.stream, keys.meta, keys.members, retries, due, dueBody, deadLetters, floor, paused, lanes, parked],
      [group],
    );
    if (reply === -1) throw new GroupInUseError(name, group);
    return reply === 1;
  }

  async #isPaused(stream: StreamName, group: string): Promise<boolean> {
    const { paused } = this.#book.group(stream, group).keys;
    return (await this.#read(stream, 'stream.paused', (client) => client.exists(paused))) === 1;
  }

  /** @returns `undefined` when what it asks for does not exist */
  async #read(stream: StreamName, name: string, send: (client: RedisClient) => Promise<unknown>): Promise<unknown> {
    const { context, keys } = this.#book.get(stream);
    try {
      return await context.connection.run({ name, effect: 'read', key: keys.stream, send });
    } catch (error) {
      const missing = error instanceof RedisCommandError && /NOGROUP|no such key/.test(error.message);
      if (missing) return undefined;
      throw error;
    }
  }
}
