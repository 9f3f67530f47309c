import { inspect } from 'node:util';
import session, { type Cookie, type SessionData } from 'express-session';
import { RedisPatternsError } from '../core/index.js';
import { ForeignSessions, type KnownSession } from '../session/index.js';

/** Options of {@link RedisSessionStore}. */
export interface RedisSessionStoreOptions {
  /**
   * Whose a session is: the id of its user, `undefined` before the login. Then `SessionService` lists and ends sessions by it. What is
   * neither a text nor a whole number is an error of the request.
   */
  principal?: (session: SessionData & Record<string, unknown>) => string | number | undefined;
}

type Callback<T = void> = (error?: unknown, value?: T) => void;
/** A cookie as it was stored is no instance any more. */
type StoredData = { readonly cookie?: { readonly originalMaxAge: number } };
type Request = Parameters<session.Store['createSession']>[0];

/** Property that carries what is known of a session to where it is saved. A text, as frameworks copy no other properties. */
const KNOWN = '__known';

/** Neither in its JSON nor in logs. */
class Known {
  #known: KnownSession;

  constructor(known: KnownSession) {
    this.#known = known;
  }

  static of(data: object): KnownSession | undefined {
    const mark: unknown = Reflect.get(data, KNOWN);
    return mark instanceof Known ? mark.#known : undefined;
  }

  markOn(data: object, enumerable = false): void {
    Object.defineProperty(data, KNOWN, { value: this, enumerable, configurable: true, writable: true });
  }

  toJSON(): undefined {
    return undefined;
  }

  [inspect.custom](): string {
    return '[as it was read]';
  }
}

/**
 * Store for `express-session`, also for `@fastify/session`. A session that ended stays ended, whatever request still saves it; requests
 * that change different fields at the same moment do not undo each other; the id is in Redis as a digest alone. Its idle time is the
 * `maxAge` of its cookie, or `session.idle`; no use of it passes `session.absolute`.
 *
 * Given by `RedisSessionStoreModule`.
 *
 * @example
 * ```ts
 * app.use(session({ store: app.get(RedisSessionStore), secret, resave: false, saveUninitialized: false }));
 * ```
 */
export class RedisSessionStore extends session.Store {
  /** Called by `RedisSessionStoreModule`, which knows the connection. */
  constructor(
    private readonly sessions: ForeignSessions,
    private readonly options: RedisSessionStoreOptions = {},
  ) {
    super();
  }

  /** A session that ended or never was gives `null`; a Redis that does not answer an error (503), never that. */
  override get(sid: string, callback: (error: unknown, session?: SessionData | null) => void): void {
    settle(this.#get(sid), callback);
  }

  /** Saves what was changed. One that has ended meanwhile stays ended, without an error. */
  override set(sid: string, data: SessionData, callback?: Callback): void {
    settle(this.#set(sid, data), callback);
  }

  override destroy(sid: string, callback?: Callback): void {
    settle(this.sessions.destroy(sid), callback);
  }

  override touch(sid: string, data: SessionData, callback?: Callback): void {
    settle(this.sessions.touch(sid, this.#idleOf(data.cookie)), callback);
  }

  /** Ends all sessions of the namespace, those of `SessionService` included. Goes through all keys of Redis. */
  override clear(callback?: Callback): void {
    settle(this.sessions.clear(), callback);
  }

  /** How many sessions the namespace has, those of `SessionService` included. Goes through all keys of Redis. */
  override length(callback: (error: unknown, length?: number) => void): void {
    settle(this.sessions.count(), callback);
  }

  /** Always an error: nobody can use a list of all sessions, and it may be longer than the memory. */
  override all(callback: (error: unknown) => void): void {
    const message =
      'RedisSessionStore.all() is not offered, as it would read every session; use SessionService.listByPrincipal()';
    settle(Promise.reject(new RedisPatternsError('ERR_SESSION_ALL', message)), callback);
  }

  override createSession(request: Request, data: SessionData): session.Session & SessionData {
    const created = super.createSession(request, data);
    const known = Known.of(data);
    // Copied with the fields, but the application need not see it.
    if (known !== undefined) new Known(known).markOn(created);
    return created;
  }

  async #get(sid: string): Promise<SessionData | null> {
    const found = await this.sessions.load(sid);
    if (found === undefined) return null;
    const { cookie: stored, ...data } = found.session.data as StoredData;
    const cookie = { ...USUAL, ...stored };
    // What is stored of it would be as old as the last change.
    const expires = cookie.originalMaxAge === null ? null : new Date(Date.now() + found.endsIn);
    const loaded: SessionData = { ...data, cookie: { ...cookie, expires } };
    new Known(found.known).markOn(loaded, true);
    return loaded;
  }

  async #set(sid: string, data: SessionData): Promise<void> {
    const { [KNOWN]: _, cookie, ...fields } = data as SessionData & Record<string, unknown>;
    const principal = this.options.principal?.(data as SessionData & Record<string, unknown>);
    const whole = {
      data: { cookie: storedCookie(cookie), ...fields },
      idle: this.#idleOf(cookie),
      principal,
    };
    const known = Known.of(data);
    const saved = await this.sessions.save(sid, whole, known);
    if (saved !== undefined) new Known(saved).markOn(data, Object.prototype.propertyIsEnumerable.call(data, KNOWN));
  }

  #idleOf({ originalMaxAge }: Cookie): number {
    return typeof originalMaxAge === 'number' ? Math.max(1, Math.floor(originalMaxAge)) : this.sessions.options.idle;
  }
}

/** What most cookies have in common. */
const USUAL = { path: '/', httpOnly: true, originalMaxAge: null };

/** Without what is usual, or follows from the time at which it is read: short enough for the compact form of a hash. */
function storedCookie(cookie: Cookie & { toJSON?: () => object }): object {
  const { expires: _, originalExpires: __, ...stored } = (cookie.toJSON?.() ?? cookie) as Record<string, unknown>;
  const isUsual = ([name, value]: [string, unknown]): boolean =>
    value === undefined || value === null || USUAL[name as keyof typeof USUAL] === value;
  return Object.fromEntries(Object.entries(stored).filter((entry) => !isUsual(entry)));
}

/** What a callback throws is no failure of the promise. */
function settle<T>(promise: Promise<T>, callback: Callback<T> | undefined): void {
  promise.then(
    (value) => process.nextTick(() => callback?.(null, value)),
    (error: unknown) => process.nextTick(() => callback?.(error)),
  );
}
