import { randomBytes, randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { EngineContext } from '../connection/index.js';
import type { Key } from '../keys/index.js';
import { runScript, sendScript } from '../scripting/index.js';
import { acquireScript, extendScript, inspectScript, releaseScript } from './scripts.generated.js';

/** The keys of one lock, in one hash slot. */
export interface LockKeys {
  readonly lock: string;
  readonly fence: string;
}

/** What is known of an acquire or extend that was answered. */
export interface Answered<Reply> {
  readonly reply: Reply;
  /** When the request that was answered was sent, on the clock of `performance.now()`. */
  readonly sentAt: number;
  /** Whether it was sent more than once: an earlier one may still be on its way. */
  readonly repeated: boolean;
}

interface CallLimits {
  readonly deadline: number;
  readonly signal?: AbortSignal | undefined;
}

export type AcquireReply = [granted: 1, fence: string, nowMs: number] | [granted: 0, leftMs: number];
/** 1: it was ours; 0: somebody else holds the lock; -1: nobody does. */
export type OwnershipReply = 1 | 0 | -1;

/** How long the last fence of an idle lock is remembered at the least: a server clock may step back by that. */
const FENCE_TTL = 600_000;

/** What the locks of one application say to Redis. */
export class LockCommands {
  readonly #owner = `${hostname()}-${process.pid}-${randomBytes(4).toString('hex')}`;

  constructor(private readonly context: EngineContext) {}

  /** Milliseconds. */
  get commandTimeout(): number {
    return this.context.connection.commandTimeout;
  }

  /** @throws InvalidKeyError */
  keysOf(key: Key): LockKeys {
    const { keys } = this.context;
    const lock = keys.main('lock', key);
    return { lock, fence: keys.companion('lock', 'fence', lock) };
  }

  /** A token that no other acquisition has; its first part tells people whose it is. */
  newToken(): string {
    return `${this.#owner}.${randomUUID()}`;
  }

  /** @param onLateGrant called when the lock was granted after the call had been given up */
  async acquire(
    keys: LockKeys,
    token: string,
    leaseMs: number,
    limits: CallLimits & { onLateGrant: () => void },
  ): Promise<Answered<AcquireReply>> {
    let sentAt = 0;
    let sends = 0;
    const reply = await this.context.connection.run<AcquireReply>({
      name: acquireScript.name,
      effect: acquireScript.effect,
      key: keys.lock,
      wait: true,
      deadline: limits.deadline,
      signal: limits.signal,
      onLate: ([granted]) => {
        if (granted === 1) limits.onLateGrant();
      },
      // The lease is counted from the request that won, not from the call, which may have waited for a connection.
      send: (client) => {
        sentAt = performance.now();
        sends++;
        const args: [string, number, number] = [token, leaseMs, Math.max(FENCE_TTL, 2 * leaseMs)];
        return sendScript(client, acquireScript, [keys.lock, keys.fence], args);
      },
    });
    return { reply, sentAt, repeated: sends > 1 };
  }

  async extend(
    keys: LockKeys,
    token: string,
    leaseMs: number,
    { deadline }: CallLimits,
  ): Promise<Answered<OwnershipReply>> {
    let sentAt = 0;
    let sends = 0;
    const reply = await this.context.connection.run<OwnershipReply>({
      name: extendScript.name,
      effect: extendScript.effect,
      key: keys.lock,
      wait: true,
      deadline,
      send: (client) => {
        sentAt = performance.now();
        sends++;
        return sendScript(client, extendScript, [keys.lock], [token, leaseMs]);
      },
    });
    return { reply, sentAt, repeated: sends > 1 };
  }

  /**
   * Compare-and-delete.
   *
   * @param single not repeated by the connection, so that the caller knows whether an earlier try may have succeeded
   */
  release(
    keys: LockKeys,
    token: string,
    { deadline, single = false }: CallLimits & { single?: boolean },
  ): Promise<OwnershipReply> {
    const effect = single ? 'once' : releaseScript.effect;
    return runScript(this.context.connection, releaseScript, [keys.lock], [token], { deadline, effect, wait: true });
  }

  inspect(keys: LockKeys): Promise<[token: string, leftMs: number, fence: string] | null> {
    return runScript(this.context.connection, inspectScript, [keys.lock, keys.fence], []);
  }
}

/** The first part of a token: host, process id and a random number of the process. */
export function ownerOf(token: string): string {
  return token.slice(0, Math.max(0, token.lastIndexOf('.')));
}

/**
 * When the holder must stop, on its own monotonic clock: 1 % for clocks of different speed and 2 ms for the expiry of Redis
 * being read in whole milliseconds, both from the Redlock algorithm (redis.io, "Distributed Locks with Redis").
 */
export function localDeadline(sentAt: number, leaseMs: number): number {
  return sentAt + leaseMs * 0.99 - 2;
}
