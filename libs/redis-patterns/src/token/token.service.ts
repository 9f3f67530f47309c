import { hash, randomBytes } from 'node:crypto';
import { ClassTypes, fromTaggedText, toTaggedText, ValueCodec } from '../codec/index.js';
import { RedisUnavailableError, type EngineContext } from '../connection/index.js';
import { InvalidOptionsError } from '../core/index.js';
import { runScript } from '../scripting/index.js';
import { traceMethods, type PatternTracer } from '../telemetry/index.js';
import { consumeScript, issueScript, membersScript, revokeManyScript, verifyScript } from './scripts.generated.js';
import { TokenUnavailableError } from './token.errors.js';
import {
  parseIssueOptions,
  parsePurpose,
  parseTokenPrincipal,
  type ResolvedTokenOptions,
  type TokenIssueOptions,
} from './token.options.js';

/** How long the reply to a `consume` may be lost and asked for again, milliseconds. */
const REMEMBER = 10_000;
/** Tokens that one script revokes. */
const BATCH = 500;
const TOKEN = /^[\w-]{43}$/;

/**
 * Tokens for one purpose: a link that resets a password, an invitation, a code that is exchanged once. Redis holds their SHA-256 alone.
 * What it promises is in docs/sessions.md.
 *
 * Each method throws `TokenUnavailableError` when Redis does not answer by the deadline: an answer "invalid" always comes from Redis.
 *
 * @example
 * ```ts
 * const token = await this.tokens.issue('password-reset', { userId: 7 }, { ttl: '10m', principal: 7 });
 * const found = await this.tokens.consume<{ userId: number }>('password-reset', token); // once; then undefined
 * ```
 */
export class TokenService {
  readonly #values: ValueCodec;
  private readonly tracer: PatternTracer;

  constructor(
    private readonly context: EngineContext,
    private readonly options: ResolvedTokenOptions,
  ) {
    this.tracer = context.telemetry.tracer('token', context.connection.name);
    const types = new ClassTypes();
    types.add(options.types, 'token');
    this.#values = new ValueCodec(types, options.codec);
  }

  /**
   * Makes a token: 256 random bits as 43 characters that may stand in a URL.
   *
   * @param purpose what it is good for; for any other it is not valid. One purpose is one hash slot
   * @param payload what whoever brings it is given; anything but `undefined`
   * @throws TokenUnavailableError; then nobody has a token
   * @throws CodecError, InvalidOptionsError
   */
  async issue(purpose: string, payload: unknown, options: TokenIssueOptions = {}): Promise<string> {
    const { ttl = this.options.ttl, principal } = parseIssueOptions(options);
    const name = parsePurpose(purpose, 'issue');
    const token = randomBytes(32).toString('base64url');
    const digest = digestOf(token);
    const index = principal === undefined ? [] : [this.#index(name, principal)];
    const { maxPerPrincipal } = this.options;
    const surplus = await answered(
      runScript(
        this.context.connection,
        issueScript,
        [this.#record(name, digest), ...index],
        [this.#encode(payload), ttl, digest, maxPerPrincipal],
        { wait: true },
      ),
    );
    if (surplus.length > 0) await this.#revoke(name, index[0]!, surplus);
    return token;
  }

  /**
   * The payload of a token that stays valid; `undefined` when it is not valid.
   *
   * @throws TokenUnavailableError, CodecError, InvalidOptionsError
   */
  async verify<Payload = unknown>(purpose: string, token: string): Promise<Payload | undefined> {
    const record = this.#recordOf(parsePurpose(purpose, 'verify'), token);
    if (record === undefined) return undefined;
    const payload = await answered(runScript(this.context.connection, verifyScript, [record], [], { wait: true }));
    return payload === null ? undefined : this.#decode<Payload>(payload);
  }

  /**
   * Uses a token up. Of all calls with a token, in all processes, one gets its payload; the others, and all later ones, `undefined`.
   *
   * @throws TokenUnavailableError; with `outcome: 'unknown'` it may have been used up
   * @throws CodecError, InvalidOptionsError
   */
  async consume<Payload = unknown>(purpose: string, token: string): Promise<Payload | undefined> {
    const record = this.#recordOf(parsePurpose(purpose, 'consume'), token);
    if (record === undefined) return undefined;
    const attempt = randomBytes(12).toString('base64url');
    const payload = await answered(
      runScript(this.context.connection, consumeScript, [record], [attempt, REMEMBER], { wait: true }),
    );
    return payload === null ? undefined : this.#decode<Payload>(payload);
  }

  /**
   * Makes a token invalid.
   *
   * @returns `false` when there was none; also when Redis had to be asked twice
   * @throws TokenUnavailableError, InvalidOptionsError
   */
  async revoke(purpose: string, token: string): Promise<boolean> {
    const record = this.#recordOf(parsePurpose(purpose, 'revoke'), token);
    if (record === undefined) return false;
    const removed = await answered(
      this.context.connection.run({
        name: 'token.revoke',
        effect: 'idempotent',
        key: record,
        wait: true,
        send: (client) => client.unlink(record),
      }),
    );
    return removed > 0;
  }

  /**
   * Makes all tokens of a principal and purpose invalid that were issued before.
   *
   * @returns how many there were
   * @throws TokenUnavailableError when some may be left; repeat it
   * @throws InvalidOptionsError
   */
  async revokeAll(purpose: string, principal: string | number | bigint): Promise<number> {
    const name = parsePurpose(purpose, 'revokeAll');
    const index = this.#index(name, parseTokenPrincipal(principal));
    let revoked = 0;
    for (;;) {
      const digests = await answered(
        runScript(this.context.connection, membersScript, [index], [BATCH], { wait: true }),
      );
      if (digests.length > 0) revoked += await this.#revoke(name, index, digests);
      if (digests.length < BATCH) return revoked;
    }
  }

  #revoke(purpose: string, index: string, digests: string[]): Promise<number> {
    const records = digests.map((digest) => this.#record(purpose, digest));
    return answered(runScript(this.context.connection, revokeManyScript, [index, ...records], digests, { wait: true }));
  }

  /** `undefined` for what is no token of ours, so that Redis is not asked. */
  #recordOf(purpose: string, token: unknown): string | undefined {
    return typeof token === 'string' && TOKEN.test(token) ? this.#record(purpose, digestOf(token)) : undefined;
  }

  #record(purpose: string, digest: string): string {
    return this.context.keys.family('token', purpose, digest);
  }

  #index(purpose: string, principal: string): string {
    const { keys } = this.context;
    return keys.companion('token', 'principal', keys.family('token', purpose), principal);
  }

  #encode(payload: unknown): string {
    const where = 'TokenService.issue()';
    if (payload === undefined) {
      throw new InvalidOptionsError(where, [
        { path: 'payload', message: 'is missing; give null for a token without one' },
      ]);
    }
    const text = toTaggedText(this.#values, payload);
    const bytes = Buffer.byteLength(text);
    const { maxBytes } = this.options;
    if (bytes <= maxBytes) return text;
    const message = `has ${bytes} bytes, more than 'token.maxBytes' (${maxBytes}); keep references in it, or raise that`;
    throw new InvalidOptionsError(where, [{ path: 'payload', message }]);
  }

  #decode<Payload>(text: string): Payload {
    return fromTaggedText(this.#values, text) as Payload;
  }
}

traceMethods(TokenService, ['issue', 'verify', 'consume', 'revoke', 'revokeAll']);

function digestOf(token: string): string {
  return hash('sha256', token, 'base64url');
}

async function answered<T>(reply: Promise<T>): Promise<T> {
  try {
    return await reply;
  } catch (error) {
    throw error instanceof RedisUnavailableError ? new TokenUnavailableError(error) : error;
  }
}
