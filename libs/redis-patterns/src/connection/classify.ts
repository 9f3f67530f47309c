import { types } from 'node:util';
import type { FailureOutcome, UnavailableCode } from './connection.errors.js';

/** What an ioredis error means for the caller. */
export interface Failure {
  readonly outcome: FailureOutcome;
  /** Absent: the command itself is wrong (`RedisCommandError`). */
  readonly code?: UnavailableCode;
  readonly reply?: string;
  /** The state passes by itself, and nothing happened: safe to try again. */
  readonly passing: boolean;
  /** Text for people: Redis' words without any argument. */
  readonly text: string;
}

/** Redis is up but in a state that ends by itself; the command was not run. */
const PASSING = new Set(['READONLY', 'MASTERDOWN', 'LOADING', 'BUSY', 'CLUSTERDOWN', 'TRYAGAIN', 'MOVED', 'ASK']);
/** Redis refuses for a reason that needs somebody: memory, disk, replicas, credentials. The command was not run. */
const REFUSING = new Set(['OOM', 'MISCONF', 'NOREPLICAS', 'NOAUTH', 'WRONGPASS']);
/** Words with which only Redis itself begins a reply. */
const KNOWN = new Set([...PASSING, ...REFUSING, 'NOSCRIPT', 'NOPERM', 'WRONGTYPE', 'CROSSSLOT', 'NOGROUP', 'NOTBUSY']);
/** Part of ioredis' messages for what it never wrote to a socket. */
const NOT_SENT = /isn't writeable|Cluster isn't ready/;
/** A lost connection stands there as well, and that is no reply. */
const LEFT_OVER_REDIRECT = /^Too many Cluster redirections\. Last error: (?:\w+: )?([A-Z]{2,})\b/;
/** A script that failed in the middle: what it wrote before stays. */
const INSIDE_SCRIPT = /script: [0-9a-f]+, on @user_script/;

/**
 * Reads an error of ioredis by the words of its message: its classes differ by path (`SimpleError`, `ReplyError`,
 * `AbortError`) for the same reply.
 */
export function classify(error: unknown): Failure {
  const original = toError(error);
  const { message } = original;
  if (NOT_SENT.test(message)) {
    return { outcome: 'not-sent', code: 'ERR_REDIS_NOT_READY', passing: true, text: 'the connection is not ready' };
  }
  const reply = LEFT_OVER_REDIRECT.exec(message)?.[1] ?? firstWord(message);
  if (reply !== undefined) return classifyReply(reply, message, textOf(original));
  return {
    outcome: 'unknown',
    code: 'ERR_REDIS_CONNECTION_LOST',
    passing: false,
    text: 'the connection was lost with the call in flight',
  };
}

function classifyReply(reply: string, message: string, text: string): Failure {
  if (PASSING.has(reply)) return { outcome: 'refused', code: 'ERR_REDIS_REFUSED', reply, passing: true, text };
  if (REFUSING.has(reply)) return { outcome: 'refused', code: 'ERR_REDIS_REFUSED', reply, passing: false, text };
  // After its first write a script is refused no more, so only a fault in the middle leaves half of the work behind.
  const outcome = INSIDE_SCRIPT.test(message) ? 'unknown' : 'refused';
  const advice =
    reply === 'NOPERM'
      ? '; the ACL user of this connection lacks it: docs/connections.md lists what each pattern needs'
      : '';
  return { outcome, reply, passing: false, text: text + advice };
}

/** Words in quotes that Redis does not have from anybody's arguments. */
const HARMLESS_QUOTES = /(?:unknown command |run the |used memory > )'[^']*'[^']*$/;

/**
 * Redis' words without what it repeats of a command: arguments, keys, and the text with which a script failed may hold a
 * password or a session.
 */
export function redact(message: string): string {
  const text = message
    .replace(/,? with args beginning with:.*$/s, '')
    .replace(/(user_script:\d+:) .*$/s, '$1 failed')
    .slice(0, 300);
  // An argument may hold quotes itself, so everything from the first to the last one goes.
  return HARMLESS_QUOTES.test(text) ? text : text.replace(/(?<=^|[\s(])['"`].*['"`]/s, "'…'");
}

/** What may be told of an error: all of it that Redis says itself. */
function textOf(error: Error): string {
  const { name } = (error as { command?: { name?: string } }).command ?? {};
  const word = firstWord(error.message);
  // What a script returns as an error is its own text, with whatever it was given; Redis marks its own errors in scripts.
  const ofScript = word !== undefined && name !== undefined && /^(?:eval|evalsha|fcall)/i.test(name);
  if (ofScript && !KNOWN.has(word) && !INSIDE_SCRIPT.test(error.message)) return `${word} a script failed`;
  return redact(error.message);
}

/**
 * A copy of an ioredis error that is safe to keep: the original carries `command.args`, with the AUTH password and every
 * value in clear.
 */
export function safeCause(error: unknown): Error {
  const original = toError(error);
  const copy = new Error(textOf(original));
  copy.name = original.name;
  if ('code' in original && typeof original.code === 'string') Object.assign(copy, { code: original.code });
  return copy;
}

function firstWord(message: string): string | undefined {
  return /^[A-Z][A-Z0-9]+(?= |$)/.exec(message)?.[0];
}

/** An error of Node's core is no `instanceof Error` where code runs in a context of its own, as under test runners. */
function toError(error: unknown): Error {
  return types.isNativeError(error) || error instanceof Error ? error : new Error(String(error));
}
