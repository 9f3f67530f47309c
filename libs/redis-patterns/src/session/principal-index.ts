import type { SessionCommands } from './session-commands.js';
import type { SessionData } from './session-data.js';
import { SessionRevokedError } from './session.errors.js';
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

/**
 * Which sessions a principal has. An entry is made before its session is there and once more afterwards, and is removed only as it
 * was read, so that every live session has one; what has ended by itself is found when the index is read. No keyspace events.
 */
export class PrincipalIndex {
  constructor(
    private readonly commands: SessionCommands,
    private readonly data: SessionData,
    private readonly max: number,
  ) {}

  /**
   * Writes a session that belongs to a principal from now on.
   *
   * @param absolute how long it lives at most, milliseconds
   * @param write makes the session theirs; `undefined` when there is none
   * @throws SessionRevokedError when {@link endAll} came meanwhile; the session is gone then
   */
  async enter<T>(
    principal: string,
    handle: string,
    absolute: number,
    write: () => Promise<T | undefined>,
  ): Promise<T | undefined> {
    const [epoch, count, oldest] = await this.commands.enter(principal, handle, absolute);
    const [written, dead] = await Promise.all([write(), this.#deadAmong(principal, handle, oldest)]);
    // The entry stays: a parallel call may have made the session theirs. If not, whoever reads the index takes it away.
    if (written === undefined) return undefined;
    if ((await this.commands.confirm(principal, handle, absolute, epoch, dead)) === 0) {
      await this.commands.remove(handle, principal);
      await this.commands.leave(principal, [handle, '']);
      throw new SessionRevokedError();
    }
    if (count > this.max) await this.#endOldest(principal, handle);
    return written;
  }

  /** The session has ended, or is somebody else's. What fails here is found later. */
  async leave(principal: string, handle: string): Promise<void> {
    await this.commands.leave(principal, [handle, '']).catch(() => undefined);
  }

  /** Live sessions, those that began last first. */
  async list<Data extends object>(principal: string): Promise<Session<Data>[]> {
    const found: Session<Data>[] = [];
    for (let offset = 0; ;) {
      const page = entriesOf(await this.commands.members(principal, offset, PAGE));
      const { live, dead } = await this.#check<Data>(principal, page);
      await this.commands.leave(principal, dead);
      found.push(...live);
      if (page.length < PAGE) break;
      offset += live.length;
    }
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

  async #endOldest(principal: string, own: string): Promise<void> {
    const others = (await this.list(principal)).filter(({ handle }) => handle !== own);
    const surplus = others.slice(this.max - 1);
    await this.#end(
      principal,
      surplus.map(({ handle }) => ({ handle, end: '' })),
    );
  }

  /** Each new session looks at the entries that end first, so that an index nobody lists does not only grow. */
  async #deadAmong(principal: string, own: string, oldest: readonly string[]): Promise<readonly string[]> {
    const others = entriesOf(oldest).filter(({ handle }) => handle !== own);
    return this.#check(principal, others).then(
      ({ dead }) => dead,
      () => [],
    );
  }

  async #check<Data extends object>(
    principal: string,
    entries: readonly Entry[],
  ): Promise<{ live: Session<Data>[]; dead: string[] }> {
    const live: Session<Data>[] = [];
    const dead: string[] = [];
    const replies = await inParts(entries, ({ handle }) => this.commands.peek(handle, principal));
    replies.forEach((result, index) => {
      const { handle, end } = entries[index]!;
      const reply = valueOf(result);
      if (reply === null) dead.push(handle, end);
      else live.push(this.data.decode<Data>(handle, reply));
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

/** @throws what it failed with */
function valueOf<R>(result: PromiseSettledResult<R>): R {
  if (result.status === 'rejected') throw result.reason;
  return result.value;
}
