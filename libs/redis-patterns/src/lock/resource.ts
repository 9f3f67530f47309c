import type { RedisConnection } from '../connection/index.js';
import { sendScript, type Script } from '../scripting/index.js';

/** What is known of a request that was answered. */
export interface Answered<Reply> {
  readonly reply: Reply;
  /** When the request that was answered was sent, on the clock of `performance.now()`. */
  readonly sentAt: number;
  /** Whether it was sent more than once: an earlier one may still be on its way. */
  readonly repeated: boolean;
}

export interface CallLimits {
  /** Milliseconds. */
  readonly deadline: number;
  readonly signal?: AbortSignal | undefined;
}

export interface AttemptLimits extends CallLimits {
  /** Called when it was granted after the call had been given up. */
  readonly onLateGrant: () => void;
}

/**
 * Granted with a fence ('' where there is none); or refused: how long until somebody's lease ends (-1: never, -2: nobody holds
 * it, but others come first), the place in the queue (-1: not in it), how long the head of the queue is known to live, the last
 * fence where it can be handed over.
 */
export type AttemptReply =
  | readonly [granted: 1, fence: string]
  | readonly [granted: 0, leftMs: number, rank: number, headMs: number, lastFence?: string];

/** 1: it was ours; 0: somebody else holds it; -1: nobody does. */
export type OwnershipReply = 1 | 0 | -1;

/** Something that is leased to a token: a lock, permits, one side of a read/write lock, the term of a leader. */
export interface Resource {
  /** Its main key in Redis, for errors. */
  readonly key: string;
  /** Last part of the ids of its waiters, for scripts that treat them differently; `undefined`: it has no queue, and is polled. */
  readonly waiterKind: string | undefined;
  /** Whether what a waiter was handed over is its own without another word; else it is a reason to ask. */
  readonly handsOver?: boolean;
  /** How many permits it is; absent for what is one thing. */
  readonly permits?: number;
  /**
   * Asks once. The same token again finds its own earlier grant. `waiter` `''`: does not queue.
   *
   * @throws LockUnavailableError when it was granted, but must not be used: then it is given back
   */
  attempt(token: string, waiter: string, leaseMs: number, limits: AttemptLimits): Promise<Answered<AttemptReply>>;
  /** Makes the lease last at least `leaseMs` from now; never creates it again. */
  extend(token: string, leaseMs: number, limits: CallLimits): Promise<Answered<OwnershipReply>>;
  /**
   * Gives it back, takes the waiter (if not `''`) out of the queue, and wakes who is next.
   *
   * @param limits `single`: not repeated by the connection, so that the caller knows whether an earlier try may have succeeded
   */
  leave(token: string, waiter: string, limits: CallLimits & { readonly single?: boolean }): Promise<OwnershipReply>;
}

/** Runs a script whose lease is counted from the request that won, not from the call, which may have waited for a connection. */
export async function runTimed<
  Keys extends readonly string[],
  Args extends readonly (string | number)[],
  Reply extends AttemptReply | OwnershipReply,
>(
  connection: RedisConnection,
  script: Script<Keys, Args, Reply>,
  keys: Keys,
  args: Args,
  limits: CallLimits & Partial<Pick<AttemptLimits, 'onLateGrant'>>,
  send: typeof sendScript = sendScript,
): Promise<Answered<Reply>> {
  let sentAt = 0;
  let sends = 0;
  const { onLateGrant } = limits;
  const reply = await connection.run<Reply>({
    name: script.name,
    effect: script.effect,
    key: keys[0]!,
    wait: true,
    deadline: limits.deadline,
    signal: limits.signal,
    onLate:
      onLateGrant === undefined
        ? undefined
        : (late) => {
            if (Array.isArray(late) && late[0] === 1) onLateGrant();
          },
    send: (client) => {
      sentAt = performance.now();
      sends++;
      return send(client, script, keys, args);
    },
  });
  return { reply, sentAt, repeated: sends > 1 };
}

/**
 * When the holder must stop, on its own monotonic clock: 1 % for clocks of different speed and 2 ms for the expiry of Redis
 * being read in whole milliseconds, both from the Redlock algorithm (redis.io, "Distributed Locks with Redis").
 */
export function localDeadline(sentAt: number, leaseMs: number): number {
  return sentAt + leaseMs * 0.99 - 2;
}
