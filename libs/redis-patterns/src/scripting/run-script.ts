import type { Operation, RedisClient, RedisConnection } from '../connection/index.js';
import { inOneSlot } from '../keys/index.js';
import type { Script } from './script.js';

/** What a call of a script may say beside its keys and arguments; as in {@link Operation}. */
export type ScriptCallOptions<Reply> = Partial<
  Pick<Operation<Reply>, 'deadline' | 'signal' | 'wait' | 'onLate' | 'effect'>
>;

/**
 * Runs a script through the gate: EVALSHA, and EVAL when the server does not know it (restart, failover, SCRIPT FLUSH).
 *
 * @throws RangeError when the keys are in more than one hash slot: it would work here and fail in a Cluster
 * @throws RedisUnavailableError, RedisCommandError as {@link RedisConnection.run}
 */
export function runScript<Keys extends readonly string[], Args extends readonly (string | number)[], Reply>(
  connection: RedisConnection,
  script: Script<Keys, Args, Reply>,
  keys: Keys,
  args: Args,
  options?: ScriptCallOptions<Reply>,
): Promise<Reply> {
  assertOneSlot(script.name, keys);
  // Written out, not spread: copies of objects are a good part of what a call costs.
  return connection.run<Reply>({
    name: script.name,
    effect: options?.effect ?? script.effect,
    key: keys[0]!,
    deadline: options?.deadline,
    signal: options?.signal,
    wait: options?.wait,
    onLate: options?.onLate,
    send: (client) => sendScript(client, script, keys, args),
  });
}

/** The bare call, for use inside the `send` of an operation. */
export function sendScript<Keys extends readonly string[], Args extends readonly (string | number)[], Reply>(
  client: RedisClient,
  script: Script<Keys, Args, Reply>,
  keys: Keys,
  args: Args,
): Promise<Reply> {
  const reply = client.evalsha(script.sha, keys.length, ...keys, ...args) as Promise<Reply>;
  return reply.catch((error: Error) => {
    if (!error.message.startsWith('NOSCRIPT')) throw error;
    return client.eval(script.lua, keys.length, ...keys, ...args) as Promise<Reply>;
  });
}

function assertOneSlot(name: string, keys: readonly string[]): void {
  if (keys.length < 2) {
    if (keys.length === 0) throw new RangeError(`Script ${name} has no key: a Cluster could not route it`);
    return;
  }
  for (let i = 1; i < keys.length; i++) {
    if (!inOneSlot(keys[i]!, keys[0]!)) throw new RangeError(`The keys of script ${name} are in different hash slots`);
  }
}
