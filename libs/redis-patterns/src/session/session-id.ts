import { hash, randomBytes } from 'node:crypto';

/** What Redis is told of an id: never the secret. */
export interface SessionAddress {
  /** Names the session. Lets nobody use it. */
  readonly handle: string;
  /** SHA-256 of the secret. */
  readonly hash: string;
}

const ID = /^([\w-]{22})\.([\w-]{43})$/;
const HANDLE = /^([\w-]{22})(?:\.[\w-]{43})?$/;

/**
 * A new id, `<handle>.<secret>`: 16 and 32 random bytes in base64url. 128 bits name a session, and 256 nobody can guess (OWASP
 * Session Management Cheat Sheet: at least 64).
 */
export function newSessionId(handle: string = randomBytes(16).toString('base64url')): string {
  return `${handle}.${randomBytes(32).toString('base64url')}`;
}

/** `undefined` for what is no id of ours, so that Redis is not asked. */
export function addressOf(id: unknown): SessionAddress | undefined {
  const match = typeof id === 'string' ? ID.exec(id) : null;
  return match === null ? undefined : { handle: match[1]!, hash: sha256(match[2]!) };
}

/** The address of an id that somebody else has made: of its text only digests leave the process. */
export function foreignAddressOf(id: string): SessionAddress {
  return addressOf(id) ?? { handle: sha256(`handle:${id}`).slice(0, 22), hash: sha256(id) };
}

/** The handle of a handle or an id. */
export function handleOf(text: unknown): string | undefined {
  return typeof text === 'string' ? HANDLE.exec(text)?.[1] : undefined;
}

/** A mark of one write: 48 random bits. */
export function newWriteToken(): string {
  return randomBytes(6).toString('base64url');
}

function sha256(text: string): string {
  return hash('sha256', text, 'base64url');
}
