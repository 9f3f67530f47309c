import type { Redis } from 'ioredis';
import { askSentinel } from './ask-sentinel.js';
import { sentinelAuth } from './client-factory.js';
import type { ResolvedConnectionOptions } from './connection.schema.js';

const REMEDY =
  "so that whoever reaches it may do everything; set one there ('requirepass', or ACL SETUSER default), or leave the option out where the network is trusted";

/**
 * What to say of passwords that nobody asks for: HELLO with one is answered with OK by a default user without any (`nopass`),
 * whatever the password is. Only AUTH with the password alone tells.
 *
 * @param servers connected clients, which hold the password that they were given last
 * @returns nothing for one that is asked for, or of which it cannot be told
 */
export async function unusedPasswords(
  options: ResolvedConnectionOptions,
  servers: readonly Redis[],
): Promise<string[]> {
  const [ofServers, ofSentinels] = await Promise.all([
    options.password === undefined ? false : anyOf(servers.map(takesAnybody)),
    options.sentinel.password === undefined ? false : sentinelsTakeAnybody(options),
  ]);
  return [
    ...(ofServers ? [`was given 'password' (or one in 'url'), but a server asks for none, ${REMEDY}`] : []),
    ...(ofSentinels ? [`was given 'sentinel.password', but a Sentinel asks for none, ${REMEDY}`] : []),
  ];
}

async function anyOf(answers: readonly Promise<boolean>[]): Promise<boolean> {
  return (await Promise.all(answers)).includes(true);
}

async function takesAnybody(client: Redis): Promise<boolean> {
  const { username, password } = client.options;
  // Other users have to be made, which nobody does without a password.
  if ((username ?? 'default') !== 'default' || !password) return false;
  return client.call('AUTH', password).then(
    () => false,
    (error: Error) => /without any password/i.test(error.message),
  );
}

/** As the first Sentinel that answers does. */
async function sentinelsTakeAnybody(options: ResolvedConnectionOptions): Promise<boolean> {
  const { topology } = options;
  if (topology.mode !== 'sentinel') return false;
  for (const address of topology.sentinels) {
    const answer = await askSentinel({ ...address, ...sentinelAuth(options) }, async (sentinel) => {
      await sentinel.ping();
      return takesAnybody(sentinel);
    });
    if (answer !== undefined) return answer;
  }
  return false;
}
