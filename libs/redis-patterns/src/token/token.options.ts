import { z } from 'zod';
import { byteSizeSchema, codecSchema, typesSchema, type ByteSize, type Class, type Codec } from '../codec/index.js';
import { durationSchema, parseOptions, principalSchema, type Duration } from '../core/index.js';

/** Options of `token` in `RedisPatternsOptions`. */
export interface TokenOptions {
  /** Name of the connection. Default `'default'`. Tokens belong on a Redis that evicts nothing (`noeviction`). */
  connection?: string;
  /** How long a token is valid, up to 400 d. Default 10 min. */
  ttl?: Duration;
  /** Tokens of a principal and purpose that are valid at a time, 1 to 1000; a new one revokes those of the others that end first. Default 100. */
  maxPerPrincipal?: number;
  /** Longest payload, encoded. Default `'64kb'`. */
  maxBytes?: ByteSize;
  /** Classes whose instances come back as such. */
  types?: readonly Class[];
  /** Writes and reads payloads. Default: JSON that keeps Dates, Maps and the like. */
  codec?: Codec;
}

/** Options of {@link TokenService.issue}. */
export interface TokenIssueOptions {
  /** As in {@link TokenOptions}, for this one. */
  ttl?: Duration;
  /** Whose token it is, for {@link TokenService.revokeAll}. */
  principal?: string | number | bigint;
}

/** Parsed {@link TokenOptions}; milliseconds and bytes. */
export interface ResolvedTokenOptions {
  readonly connection?: string | undefined;
  readonly ttl: number;
  readonly maxPerPrincipal: number;
  readonly maxBytes: number;
  readonly types: readonly Class[];
  readonly codec?: Codec | undefined;
}

const ttl = durationSchema({ min: 1, max: 400 * 86_400_000 });
const NAME = 'must be a text that is not empty';
const purpose = z.string(NAME).min(1, NAME);

const schema = z.strictObject({
  connection: z.string().optional(),
  ttl: ttl.prefault('10m'),
  maxPerPrincipal: z.int().min(1).max(1000).default(100),
  maxBytes: byteSizeSchema({ min: 1 }).prefault('64kb'),
  types: typesSchema.default([]),
  codec: codecSchema.optional(),
});

const issueSchema = z.strictObject({ ttl: ttl.optional(), principal: principalSchema.optional() });

/** @throws InvalidOptionsError */
export function resolveTokenOptions(raw: unknown, where: string): ResolvedTokenOptions {
  return parseOptions(schema, raw ?? {}, where, 'token');
}

/** @throws InvalidOptionsError */
export function parseIssueOptions(raw: TokenIssueOptions): z.output<typeof issueSchema> {
  return parseOptions(issueSchema, raw, 'TokenService.issue()');
}

/** @throws InvalidOptionsError */
export function parsePurpose(raw: unknown, method: string): string {
  return parseOptions(purpose, raw, `TokenService.${method}()`, 'purpose');
}

/** @throws InvalidOptionsError */
export function parseTokenPrincipal(raw: unknown): string {
  return parseOptions(principalSchema, raw, 'TokenService.revokeAll()', 'principal');
}
