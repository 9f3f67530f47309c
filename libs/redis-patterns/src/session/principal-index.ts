import { SingleFlight } from '../core/index.js';
import type { Owner, SessionCommands } from './session-commands.js';
import type { RecordReply, SessionData } from './session-data.js';
import { SessionRevokedError, SessionUnavailableError } from './session.errors.js';
import type { Session } from './session.js';

/** More than a principal may have, so that one page is the rule. */
const PAGE = 1500;
/** Scripts under way at a time. */
const PARALLEL = 50;

interface Entry {
  readonly handle: string;
  /** As Redis gave it. */
  readonly end: string;
}

/** An entry with its session. */
interface LiveEntry extends Entry {
  readonly record: RecordReply;
}

/**
 * Which sessions a principal has. An entry is made before its session is there and once more afterwards, and is removed only as it
 * was read, so that every live session has one; what has ended by itself is found when the index is read. No keyspace events.
 */
export class PrincipalIndex {
  /** By principal: what begins when the one that is under way has ended. */
  readonly #nextTrims = new SingleFlight<string, void>();
  readonly #trims = new SingleFlight<string, void>();

  constructor(
    private readonly commands: SessionCommands,
    private readonly data: SessionData,
    private readonly max: number,
  ) {}

  /**
   * Writes a session that belongs to a principal from now on.
   *
   * @param absolute how long it lives at most, milliseconds
   * @param write makes the session that of the owner; `undefined` when there is none
   * @throws SessionRevokedError when {@link endAll} came meanwhile; the session is gone then
   */
  async enter<T>(
    principal: string,
    handle: string,
    absolute: number,
    write: (owner: Owner) => Promise<T | undefined>,
  ): Promise<T | undefined> {
    const [epoch, turn, oldest] = await this.commands.enter(principal, handle, absolute);
    const [written, dead] = await Promise.all([write({ principal, turn }), this.#deadAmong(principal, handle, oldest)]);
    // The entry stays: a parallel call may have made the session theirs. If not, whoever reads the index takes it away.
    if (written === undefined) return undefined;
    const count = await this.commands.confirm(principal, handle, absolute, epoch, dead);
    if (count === 0) {
      await this.commands.remove(handle, principal);
      await this.commands.leave(principal, [handle, '']);
      throw new SessionRevokedError();
    }
    if (count > this.max) await this.#endSurplus(principal);
    return written;
  }

  /** The session has ended, or is somebody else's. What fails here is found later. */
  async leave(principal: string, handle: string): Promise<void> {
    await this.commands.leave(principal, [handle, '']).catch(() => undefined);
  }

  /** Live sessions, those that began last first. */
  async list<Data extends object>(principal: string): Promise<Session<Data>[]> {
    const live = await this.#live(principal);
    const found = live.map(({ handle, record }) => this.data.decode<Data>(handle, record));
    return found.sort((a, b) => b.createdAt.getTime() - a.createdAt.getTime());
  }

  /**
   * Ends all sessions but one, and those that are about to begin.
   *
   * @returns how many there were
   */
  async endAll(principal: string, except: string | undefined): Promise<number> {
    let ended = 0;
    for (let page = entriesOf(await this.commands.revoke(principal, PAGE)); ;) {
      const others = page.filter(({ handle }) => handle !== except);
      ended += await this.#end(principal, others);
      if (page.length < PAGE) return ended;
      // From the beginning: those that were ended are gone from it.
      page = entriesOf(await this.commands.members(principal, 0, PAGE));
    }
  }

  /** The index goes last, so that what a crash leaves over can still be found. */
  async #end(principal: string, entries: readonly Entry[]): Promise<number> {
    const gone = await inParts(entries, ({ handle }) => this.commands.remove(handle, principal));
    const done = gone.flatMap((result, index) => (result.status === 'fulfilled' ? [entries[index]!.handle, ''] : []));
    await this.commands.leave(principal, done);
    return gone.filter((result) => valueOf(result) !== null).length;
  }

  /** One at a time for a principal: of many logins at once each would read all sessions. What Redis does not do is found by the next login. */
  async #endSurplus(principal: string): Promise<void> {
    const next = this.#nextTrims.run(principal, async () => {
      await this.#trims.get(principal)?.catch(() => undefined);
      // From here on it no longer sees every session that is written.
      this.#nextTrims.detach(principal);
      await this.#trims.run(principal, () => this.#trim(principal));
    });
    await next.catch(whereUnavailable);
  }

  /**
   * Leaves the last `max`. Whoever does it, and however many at the same moment, has the same order, its own session included: so
   * none of the last is ended, and who comes last sees all others.
   */
  async #trim(principal: string): Promise<void> {
    const live = await this.#live(principal);
    const turns = live.map((entry) => ({ entry, turn: this.data.ownerOf(entry.record).turn }));
    const surplus = turns.toSorted((a, b) => b.turn - a.turn).slice(this.max);
    await this.#end(
      principal,
      surplus.map(({ entry }) => entry),
    );
  }

  /** Those whose session lives; the others leave the index. */
  async #live(principal: string): Promise<LiveEntry[]> {
    const found: LiveEntry[] = [];
    for (let offset = 0; ;) {
      const page = entriesOf(await this.commands.members(principal, offset, PAGE));
      const { live, dead } = await this.#check(principal, page);
      found.push(...live);
      const left = await this.commands.leave(principal, dead).then(() => true, whereUnavailable);
      if (page.length < PAGE) return found;
      offset += left ? live.length : page.length;
    }
  }

  /** Each new session looks at the entries that end first, so that an index nobody lists does not only grow. */
  async #deadAmong(principal: string, own: string, oldest: readonly string[]): Promise<readonly string[]> {
    const others = entriesOf(oldest).filter(({ handle }) => handle !== own);
    return this.#check(principal, others).then(
      ({ dead }) => dead,
      () => [],
    );
  }

  async #check(principal: string, entries: readonly Entry[]): Promise<{ live: LiveEntry[]; dead: string[] }> {
    const live: LiveEntry[] = [];
    const dead: string[] = [];
    const replies = await inParts(entries, ({ handle }) => this.commands.peek(handle, principal));
    replies.forEach((result, index) => {
      const entry = entries[index]!;
      const record = valueOf(result);
      if (record === null) dead.push(entry.handle, entry.end);
      else live.push({ ...entry, record });
    });
    return { live, dead };
  }
}

function entriesOf(flat: readonly string[]): Entry[] {
  const entries: Entry[] = [];
  for (let index = 0; index < flat.length; index += 2) entries.push({ handle: flat[index]!, end: flat[index + 1]! });
  return entries;
}

async function inParts<T, R>(items: readonly T[], act: (item: T) => Promise<R>): Promise<PromiseSettledResult<R>[]> {
  const results: PromiseSettledResult<R>[] = [];
  for (let start = 0; start < items.length; start += PARALLEL) {
    results.push(...(await Promise.allSettled(items.slice(start, start + PARALLEL).map(act))));
  }
  return results;
}

/** What Redis does not do now is found later. */
function whereUnavailable(error: unknown): false {
  if (error instanceof SessionUnavailableError) return false;
  throw error;
}

/** @throws what it failed with */
function valueOf<R>(result: PromiseSettledResult<R>): R {
  if (result.status === 'rejected') throw result.reason;
  return result.value;
}
