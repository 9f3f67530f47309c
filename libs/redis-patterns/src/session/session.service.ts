import type { EngineContext } from '../connection/index.js';
import { checkOptionNames, InvalidOptionsError } from '../core/index.js';
import { traceMethods, type PatternTracer } from '../telemetry/index.js';
import { PrincipalIndex } from './principal-index.js';
import { SessionCommands, type Owner } from './session-commands.js';
import { SessionData, type RecordReply } from './session-data.js';
import { SESSION_OUTCOMES, SessionConflictError, SessionTooLargeError } from './session.errors.js';
import { addressOf, handleOf, newSessionId, type SessionAddress } from './session-id.js';
import {
  parseCreateOptions,
  parsePrincipal,
  parseRotateOptions,
  type ResolvedSessionOptions,
  type SessionCreateOptions,
  type SessionRotateOptions,
} from './session.options.js';
import type { Session, SessionPatch } from './session.js';

/**
 * Sessions in Redis: their data by field, found by an id whose secret only the client has. What it promises is in docs/sessions.md.
 *
 * Each method throws `SessionUnavailableError` when Redis does not answer by the deadline: an answer "there is none" always comes
 * from Redis.
 *
 * @example
 * ```ts
 * const { id } = await this.sessions.create({ cart: [] }, { principal: user.id });
 * const session = await this.sessions.get<Cart>(id); // undefined when it has ended
 * await this.sessions.update(id, { cart: [42] });
 * await this.sessions.destroy(id);
 * ```
 */
export class SessionService {
  readonly #commands: SessionCommands;
  readonly #data: SessionData;
  readonly #index: PrincipalIndex;
  private readonly tracer: PatternTracer;

  constructor(
    context: EngineContext,
    /** @internal */
    readonly options: ResolvedSessionOptions,
  ) {
    this.tracer = context.telemetry.tracer('session', context.connection.name);
    this.#commands = new SessionCommands(context);
    this.#data = new SessionData(options);
    this.#index = new PrincipalIndex(this.#commands, this.#data, options.maxPerPrincipal);
  }

  /**
   * Begins a session.
   *
   * @returns the id, which goes to the client and is nowhere else, and the session
   * @throws SessionRevokedError when all sessions of the principal were ended meanwhile
   * @throws SessionTooLargeError, CodecError, InvalidOptionsError, SessionUnavailableError
   */
  async create<Data extends object>(
    data: Data,
    options: SessionCreateOptions = {},
  ): Promise<{ readonly id: string; readonly session: Session<Data> }> {
    const { principal, idle = this.options.idle, absolute = this.options.absolute } = parseCreateOptions(options);
    const fields = present(this.#data.encode(data, 'SessionService.create()'));
    const id = newSessionId();
    const address = addressOf(id)!;
    const write = async (owner?: Owner): Promise<RecordReply> => {
      const reply = await this.#commands.create(address, { idle, absolute }, owner, fields);
      // 128 random bits that somebody else has as well: the source of randomness is broken.
      if (reply === 0) throw new Error('a new session has the handle of another one');
      return reply;
    };
    const reply =
      principal === undefined ? await write() : await this.#index.enter(principal, address.handle, absolute, write);
    return { id, session: this.#data.decode<Data>(address.handle, reply!) };
  }

  /**
   * The session of an id; `undefined` when it has ended, or the id is none of ours.
   *
   * @param options `touch` (default true): its idle time begins anew
   * @throws SessionUnavailableError, CodecError
   */
  async get<Data extends object = Record<string, unknown>>(
    id: string,
    options: { touch?: boolean } = {},
  ): Promise<Session<Data> | undefined> {
    const where = 'SessionService.get()';
    checkOptionNames(options, ['touch'], where);
    const { touch = true } = options;
    if (typeof touch !== 'boolean') throw invalid(where, 'touch', 'must be true or false');
    const address = addressOf(id);
    const reply = address && (await this.#commands.get(address, touch));
    return reply ? this.#data.decode<Data>(address!.handle, reply) : undefined;
  }

  /**
   * Changes fields of a session; the others stay, also if another request changes them at the same moment. It never brings back one
   * that has ended.
   *
   * @param patch fields that are `undefined` are removed
   * @param options `ifVersion`: only if nobody has changed it since it had this `version`
   * @returns the session as it is then; `undefined` when it has ended
   * @throws SessionConflictError, SessionTooLargeError; nothing was changed
   * @throws SessionUnavailableError, CodecError, InvalidOptionsError
   */
  async update<Data extends object = Record<string, unknown>>(
    id: string,
    patch: SessionPatch<Data>,
    options: { ifVersion?: number } = {},
  ): Promise<Session<Data> | undefined> {
    const where = 'SessionService.update()';
    checkOptionNames(options, ['ifVersion'], where);
    const { ifVersion } = options;
    if (ifVersion !== undefined && !Number.isSafeInteger(ifVersion)) {
      throw invalid(where, 'ifVersion', "must be the 'version' of a session");
    }
    const fields = this.#data.encode(patch, where);
    const address = addressOf(id);
    return address && this.#update<Data>(address, fields, ifVersion === undefined ? '' : String(ifVersion));
  }

  /**
   * Ends a session, for who has its id. Its data is gone.
   *
   * @returns `false` when there was none; also when Redis had to be asked twice
   * @throws SessionUnavailableError
   */
  async destroy(id: string): Promise<boolean> {
    const address = addressOf(id);
    const principal = address ? await this.#commands.destroy(address) : null;
    return this.#ended(principal, address?.handle);
  }

  /**
   * Gives a session a new id and keeps the rest. After a login give the `principal`, after a change of rights `grace: 0`: then all
   * ids before are invalid at once, so that nobody who had planted or seen one gets in. Otherwise the one before stays valid for the
   * `grace`, and there is no further rotation meanwhile.
   *
   * @returns the id to send to the client. `rotated` is false when another rotation was less than its grace ago: then the id is the
   * one that was given, and no cookie is to be set, as a parallel answer carries the new one. `undefined` when the session has ended
   * @throws SessionRevokedError when all sessions of the principal were ended meanwhile
   * @throws SessionUnavailableError, InvalidOptionsError
   */
  async rotate(
    id: string,
    options: SessionRotateOptions = {},
  ): Promise<{ readonly id: string; readonly rotated: boolean } | undefined> {
    const { principal, grace = this.options.grace } = parseRotateOptions(options);
    const address = addressOf(id);
    if (address === undefined) return undefined;
    const newId = newSessionId(address.handle);
    const newHash = addressOf(newId)!.hash;
    if (principal !== undefined) {
      const rotated = await this.#claim(address, principal, newHash);
      return rotated ? { id: newId, rotated } : undefined;
    }
    const state = await this.#commands.rotate(address, newHash, grace);
    if (state === 0) return undefined;
    return state === 1 ? { id: newId, rotated: true } : { id, rotated: false };
  }

  /**
   * The live sessions of a principal, those that began last first. They carry handles: nobody can use them, but
   * {@link destroyHandle} ends them.
   *
   * @throws SessionUnavailableError, CodecError, InvalidOptionsError
   */
  async listByPrincipal<Data extends object = Record<string, unknown>>(
    principal: string | number | bigint,
  ): Promise<Session<Data>[]> {
    return this.#index.list<Data>(parsePrincipal(principal, 'SessionService.listByPrincipal()'));
  }

  /**
   * Ends the session of a handle. Check whose it is first: `listByPrincipal` names those of a principal.
   *
   * @returns `false` when there was none; also when Redis had to be asked twice
   * @throws SessionUnavailableError
   */
  async destroyHandle(handle: string): Promise<boolean> {
    const known = handleOf(handle);
    return this.#ended(known === undefined ? null : await this.#commands.remove(known, ''), known);
  }

  /**
   * Ends all sessions of a principal, those that are about to begin included.
   *
   * @param options `except`: id or handle of one that stays
   * @returns how many there were
   * @throws SessionUnavailableError when some may be left; repeat it
   * @throws InvalidOptionsError
   */
  async destroyAllOf(
    principal: string | number | bigint,
    options: { except?: string | undefined } = {},
  ): Promise<number> {
    const where = 'SessionService.destroyAllOf()';
    // One that is misspelt would end the session that was to stay.
    checkOptionNames(options, ['except'], where);
    const { except } = options;
    const kept = handleOf(except);
    if (except !== undefined && kept === undefined) {
      throw invalid(where, 'except', 'must be the id or the handle of a session');
    }
    return this.#index.endAll(parsePrincipal(principal, where), kept);
  }

  /** Makes a session that of a principal, under a new secret alone. */
  async #claim(address: SessionAddress, principal: string, newHash: string): Promise<boolean> {
    const reply = await this.#commands.get(address, false);
    if (reply === null) return false;
    const { principal: before, left } = this.#data.ownerOf(reply);
    const claimed = await this.#index.enter(principal, address.handle, left, async (owner) =>
      (await this.#commands.rotate(address, newHash, 0, owner)) === 0 ? undefined : true,
    );
    if (claimed === undefined) return false;
    if (before !== undefined && before !== principal) await this.#index.leave(before, address.handle);
    return true;
  }

  async #update<Data extends object>(
    address: SessionAddress,
    fields: readonly string[],
    ifVersion: string,
  ): Promise<Session<Data> | undefined> {
    const { maxBytes } = this.options;
    const reply = await this.#commands.update(address, fields, ifVersion, maxBytes);
    if (reply === null) return undefined;
    if (reply[0] === 'conflict') throw new SessionConflictError(reply[1]);
    if (reply[0] === 'large') throw new SessionTooLargeError(reply[1], maxBytes);
    return this.#data.decode<Data>(address.handle, [reply[1], reply[2], reply[3]]);
  }

  /** @param principal `null` when there was no session */
  async #ended(principal: string | null, handle: string | undefined): Promise<boolean> {
    if (principal === null || handle === undefined) return false;
    if (principal !== '') await this.#index.leave(principal, handle);
    return true;
  }
}

traceMethods(
  SessionService,
  ['create', 'get', 'update', 'destroy', 'rotate', 'listByPrincipal', 'destroyHandle', 'destroyAllOf'],
  { expected: SESSION_OUTCOMES },
);

/** Without the fields that are `undefined`. */
function present(fields: readonly string[]): string[] {
  return fields.filter((_, index) => fields[index - (index % 2) + 1] !== '');
}

function invalid(where: string, path: string, message: string): InvalidOptionsError {
  return new InvalidOptionsError(where, [{ path, message }]);
}
