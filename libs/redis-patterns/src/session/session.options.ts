import { z } from 'zod';
import { byteSizeSchema, codecSchema, typesSchema, type ByteSize, type Class, type Codec } from '../codec/index.js';
import { durationSchema, parseOptions, principalSchema, type Duration } from '../core/index.js';

/** The cookie that carries the id, see {@link SessionCookie}. */
export interface SessionCookieOptions {
  /**
   * Default `'__Host-sid'`: browsers take it from this host over TLS alone. Without TLS, in development: `{ name: 'sid', secure: false }`.
   */
  name?: string;
  /** Default true. */
  secure?: boolean;
  /** Default `'lax'`: other sites can link to yours, but not post forms. */
  sameSite?: 'lax' | 'strict' | 'none';
  /** Default `'/'`. */
  path?: string;
  /** Default: this host alone, without subdomains. */
  domain?: string;
  /** How long browsers keep it. Default: until they are closed. The session itself ends by `idle` and `absolute`. */
  maxAge?: Duration;
}

/** Options of `session` in `RedisPatternsOptions`. */
export interface SessionOptions {
  /** Name of the connection. Default `'default'`. Sessions belong on a Redis that evicts nothing (`noeviction`). */
  connection?: string;
  /** How long a session lives without being used. Default 30 min. */
  idle?: Duration;
  /** How long a session lives at most, however much it is used; up to 400 d. Default 24 h. */
  absolute?: Duration;
  /** How long the id before stays valid after a rotation, so that requests under way are not lost; 0 to 1 h. Default 15 s. */
  grace?: Duration;
  /** Sessions of a principal at a time, 1 to 1000: those of the last logins; a new one ends the others. Default 100. */
  maxPerPrincipal?: number;
  /** Most that the data of a session may have, encoded. Default `'64kb'`. */
  maxBytes?: ByteSize;
  /** Classes whose instances come back as such. */
  types?: readonly Class[];
  /** Writes and reads the fields. Default: JSON that keeps Dates, Maps and the like. */
  codec?: Codec;
  /** The cookie. */
  cookie?: SessionCookieOptions;
}

/** Options of {@link SessionService.create}. */
export interface SessionCreateOptions {
  /** Whose session it is: a user's id. Sessions without are found by their id alone. */
  principal?: string | number | bigint;
  /** As in {@link SessionOptions}, for this one. */
  idle?: Duration;
  /** As in {@link SessionOptions}, for this one. */
  absolute?: Duration;
}

/** Options of {@link SessionService.rotate}. */
export interface SessionRotateOptions {
  /** Whose session it is from now on: give it at a login. All ids before become invalid at once. */
  principal?: string | number | bigint;
  /** As in {@link SessionOptions}. 0: all ids before become invalid at once, for a change of rights. */
  grace?: Duration;
}

/** Parsed {@link SessionCookieOptions}; milliseconds. */
export interface ResolvedSessionCookieOptions {
  readonly name: string;
  readonly secure: boolean;
  readonly sameSite: 'lax' | 'strict' | 'none';
  readonly path: string;
  readonly domain?: string | undefined;
  readonly maxAge?: number | undefined;
}

/** Parsed {@link SessionOptions}; milliseconds and bytes. */
export interface ResolvedSessionOptions {
  readonly connection?: string | undefined;
  readonly idle: number;
  readonly absolute: number;
  readonly grace: number;
  readonly maxPerPrincipal: number;
  readonly maxBytes: number;
  readonly types: readonly Class[];
  readonly codec?: Codec | undefined;
  readonly cookie: ResolvedSessionCookieOptions;
}

const LONGEST = 400 * 86_400_000;
const idle = durationSchema({ min: 1, max: LONGEST });
const absolute = durationSchema({ min: 1, max: LONGEST });
const grace = durationSchema({ max: 3_600_000 });
/** What a header can hold without ending or adding to it. */
const ATTRIBUTE = /^[^;,\s\p{Cc}]+$/u;

const cookieSchema = z
  .strictObject({
    name: z
      .string()
      .regex(/^[\w!#$%&'*+.^`|~-]+$/, 'must be a token: letters, digits and none of ( ) < > @ , ; : \\ " / [ ] ? = { }')
      .default('__Host-sid'),
    secure: z.boolean().default(true),
    sameSite: z.enum(['lax', 'strict', 'none'], "must be 'lax', 'strict' or 'none'").default('lax'),
    path: z.string().regex(ATTRIBUTE, 'must be a path such as /').startsWith('/', 'must begin with /').default('/'),
    domain: z.string().regex(ATTRIBUTE, 'must be a host name').optional(),
    maxAge: durationSchema({ min: 1000, max: LONGEST }).optional(),
  })
  .superRefine(({ name, secure, sameSite, path, domain }, context) => {
    const issue = (option: string, message: string): void =>
      context.addIssue({ code: 'custom', path: [option], message });
    const prefix = /^__(?:Host|Secure)-/i.exec(name)?.[0];
    if (prefix !== undefined && !secure)
      issue('secure', `must be true for '${prefix}'; without TLS give another name, such as 'sid'`);
    if (/^__Host-/i.test(name) && (path !== '/' || domain !== undefined)) {
      issue(
        domain === undefined ? 'path' : 'domain',
        "cannot be given for '__Host-'; give another name, such as '__Secure-sid'",
      );
    }
    if (sameSite === 'none' && !secure) issue('sameSite', "'none' needs secure: true");
  });

const schema = z.strictObject({
  connection: z.string().optional(),
  idle: idle.prefault('30m'),
  absolute: absolute.prefault('24h'),
  grace: grace.prefault('15s'),
  maxPerPrincipal: z.int().min(1).max(1000).default(100),
  maxBytes: byteSizeSchema({ min: 1 }).prefault('64kb'),
  types: typesSchema.default([]),
  codec: codecSchema.optional(),
  cookie: cookieSchema.prefault({}),
});

const createSchema = z.strictObject({
  principal: principalSchema.optional(),
  idle: idle.optional(),
  absolute: absolute.optional(),
});
const rotateSchema = z.strictObject({ principal: principalSchema.optional(), grace: grace.optional() });

/** @throws InvalidOptionsError */
export function resolveSessionOptions(raw: unknown, where: string): ResolvedSessionOptions {
  return parseOptions(schema, raw ?? {}, where, 'session');
}

/** @throws InvalidOptionsError */
export function parseCreateOptions(raw: SessionCreateOptions): z.output<typeof createSchema> {
  return parseOptions(createSchema, raw, 'SessionService.create()');
}

/** @throws InvalidOptionsError */
export function parseRotateOptions(raw: SessionRotateOptions): z.output<typeof rotateSchema> {
  return parseOptions(rotateSchema, raw, 'SessionService.rotate()');
}

/** @throws InvalidOptionsError */
export function parsePrincipal(raw: unknown, where: string): string {
  return parseOptions(principalSchema, raw, where, 'principal');
}
