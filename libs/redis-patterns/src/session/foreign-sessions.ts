import { scanKeys, type EngineContext } from '../connection/index.js';
import { escapeGlob } from '../keys/index.js';
import { traceMethods, type PatternTracer } from '../telemetry/index.js';
import { PrincipalIndex } from './principal-index.js';
import { SessionCommands, type Owner } from './session-commands.js';
import { SessionData } from './session-data.js';
import { SESSION_OUTCOMES, SessionTooLargeError, throwUnavailable } from './session.errors.js';
import { foreignAddressOf, type SessionAddress } from './session-id.js';
import { parsePrincipal, type ResolvedSessionOptions } from './session.options.js';
import type { Session } from './session.js';

/** A session as somebody has read or written it, to tell later what they have changed. */
export interface KnownSession {
  readonly fields: ReadonlyMap<string, string>;
  readonly idle: number;
  readonly principal: string;
}

/** What a whole session shall be. */
export interface WholeSession {
  readonly data: object;
  /** Milliseconds. */
  readonly idle: number;
  /** Nothing (`undefined`, `null`, `''`): nobody's. */
  readonly principal: string | number | bigint | null | undefined;
}

/**
 * Sessions whose ids a framework makes, and which it writes as a whole. What lies in Redis is the same as that of `SessionService`: of a whole
 * session only the changes are sent, and only to one that lives.
 */
export class ForeignSessions {
  readonly #commands: SessionCommands;
  readonly #data: SessionData;
  readonly #index: PrincipalIndex;
  private readonly tracer: PatternTracer;

  constructor(
    private readonly context: EngineContext,
    readonly options: ResolvedSessionOptions,
  ) {
    this.tracer = context.telemetry.tracer('session', context.connection.name);
    this.#commands = new SessionCommands(context);
    this.#data = new SessionData(options);
    this.#index = new PrincipalIndex(this.#commands, this.#data, options.maxPerPrincipal);
  }

  /** Does not begin its idle time anew: {@link save} and {@link touch} do. */
  async load(id: string): Promise<{ known: KnownSession; session: Session; endsIn: number } | undefined> {
    const address = foreignAddressOf(id);
    const reply = await this.#commands.get(address, false);
    if (reply === null) return undefined;
    const session = this.#data.decode<Record<string, unknown>>(address.handle, reply);
    return { known: knownOf(reply[2]), session, endsIn: reply[1] };
  }

  /**
   * @param known as it was read or written before; without it one that is not there is created
   * @returns what is known now; `undefined` when the session that was known has ended
   */
  async save(id: string, whole: WholeSession, known?: KnownSession): Promise<KnownSession | undefined> {
    const address = foreignAddressOf(id);
    const encoded = this.#data.encode(whole.data, 'RedisSessionStore.set()', true);
    const fields = new Map(pairsOf(encoded).filter(([, text]) => text !== ''));
    // An object would be the same text for everybody.
    const given = whole.principal ?? '';
    const principal = given === '' ? '' : parsePrincipal(given, 'RedisSessionStoreModule.forRoot()');
    const next: KnownSession = { fields, idle: whole.idle, principal };
    const isNewOwner = principal !== '' && principal !== known?.principal;
    const write = (owner?: Owner): Promise<KnownSession | undefined> =>
      known === undefined ? this.#create(address, next, owner) : this.#update(address, known, next, owner);
    const { absolute } = this.options;
    const written = isNewOwner ? await this.#index.enter(principal, address.handle, absolute, write) : await write();
    const before = known?.principal ?? '';
    if (written !== undefined && before !== '' && before !== principal) await this.#index.leave(before, address.handle);
    return written;
  }

  async touch(id: string, idle: number): Promise<void> {
    await this.#commands.touch(foreignAddressOf(id), idle);
  }

  async destroy(id: string): Promise<void> {
    const address = foreignAddressOf(id);
    const principal = await this.#commands.destroy(address);
    if (principal) await this.#index.leave(principal, address.handle);
  }

  /** Goes through the keys of all masters; those of `SessionService` are among them. */
  async count(): Promise<number> {
    let count = 0;
    await this.#scan(async (keys) => void (count += keys.length));
    return count;
  }

  /** As {@link count}. */
  async clear(): Promise<void> {
    const prefix = this.context.keys.prefix('session');
    await this.#scan(async (keys) => {
      await Promise.all(keys.map((key) => this.#commands.remove(key.slice(prefix.length), '')));
    });
  }

  async #create(
    address: SessionAddress,
    next: KnownSession,
    owner: Owner | undefined,
  ): Promise<KnownSession | undefined> {
    const { absolute } = this.options;
    const fields = [...next.fields].flat();
    const reply = await this.#commands.create(address, { idle: next.idle, absolute }, owner, fields);
    if (reply === 0) return undefined;
    // It may have been there: then it becomes what it shall be.
    const there = knownOf(reply[2]);
    const isNew = changesOf(there, next).length === 0 && reply[1] > 0.9 * Math.min(next.idle, absolute);
    return isNew ? next : this.#update(address, there, next, owner);
  }

  async #update(
    address: SessionAddress,
    known: KnownSession,
    next: KnownSession,
    owner: Owner | undefined,
  ): Promise<KnownSession | undefined> {
    const changes = changesOf(known, next);
    if (owner !== undefined && known.principal !== next.principal) changes.push('_t', String(owner.turn));
    if (changes.length === 0) return (await this.#commands.touch(address, next.idle)) === 1 ? next : undefined;
    const reply = await this.#commands.update(address, changes, '', this.options.maxBytes);
    if (reply?.[0] === 'large') throw new SessionTooLargeError(reply[1], this.options.maxBytes);
    return reply === null ? undefined : next;
  }

  async #scan(act: (keys: string[]) => Promise<void>): Promise<void> {
    const { connection, keys } = this.context;
    const glob = `${escapeGlob(keys.prefix('session'))}*`;
    try {
      for await (const page of scanKeys(connection, 'session.scan', glob, { wait: true })) await act(page);
    } catch (error) {
      throwUnavailable(error);
    }
  }
}

traceMethods(ForeignSessions, ['load', 'save', 'touch', 'destroy', 'count', 'clear'], {
  acts: ['touch', 'destroy', 'clear'],
  expected: SESSION_OUTCOMES,
});

function pairsOf(flat: readonly string[]): [name: string, text: string][] {
  const pairs: [string, string][] = [];
  for (let index = 0; index < flat.length; index += 2) pairs.push([flat[index]!, flat[index + 1]!]);
  return pairs;
}

function knownOf(flat: readonly string[]): KnownSession {
  const all = new Map(pairsOf(flat));
  const fields = new Map([...all].filter(([name]) => name.startsWith('d:')));
  return { fields, idle: Number(all.get('_i')), principal: all.get('_u') ?? '' };
}

/** Name and text of each field that differs; `''` removes it. */
function changesOf(known: KnownSession, next: KnownSession): string[] {
  const changes: string[] = [];
  for (const [name, text] of next.fields) if (known.fields.get(name) !== text) changes.push(name, text);
  for (const name of known.fields.keys()) if (!next.fields.has(name)) changes.push(name, '');
  if (known.idle !== next.idle) changes.push('_i', String(next.idle));
  if (known.principal !== next.principal) changes.push('_u', next.principal);
  return changes;
}
