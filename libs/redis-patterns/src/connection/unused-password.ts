import type { Redis } from 'ioredis';
import { askSentinel } from './ask-sentinel.js';
import { sentinelAuth } from './client-factory.js';
import type { ResolvedConnectionOptions } from './connection.schema.js';

/** Longest time for the answer of a Sentinel, which nobody waits for, milliseconds. */
const SENTINEL_TIMEOUT = 2000;
const REMEDY =
  "so that whoever reaches it may do everything; set one there ('requirepass', or ACL SETUSER default), or leave the option out where the network is trusted";

/** What to say of `password` if a server does not ask for it. @param servers connected clients, with the password they were given last */
export async function unusedPassword(servers: readonly Redis[]): Promise<string | undefined> {
  const answers = await Promise.all(servers.map(takesAnybody));
  return answers.includes(true)
    ? `was given 'password' (or one in 'url'), but a server asks for none, ${REMEDY}`
    : undefined;
}

/** The same for `sentinel.password`; the first Sentinel that answers speaks for all. */
export async function unusedSentinelPassword(options: ResolvedConnectionOptions): Promise<string | undefined> {
  const { topology, sentinel } = options;
  if (topology.mode !== 'sentinel' || sentinel.password === undefined || !isDefaultUser(sentinel.username))
    return undefined;
  for (const address of topology.sentinels) {
    const ask = async (client: Redis): Promise<boolean> => {
      await client.connect();
      return takesAnybody(client);
    };
    const answer = await askSentinel({ ...address, ...sentinelAuth(options) }, ask, SENTINEL_TIMEOUT);
    if (answer === true) return `was given 'sentinel.password', but a Sentinel asks for none, ${REMEDY}`;
    if (answer === false) return undefined;
  }
  return undefined;
}

/**
 * Whether the server takes any password, or none: HELLO with one is answered with OK by a default user without any (`nopass`). AUTH
 * with the password alone is not.
 */
async function takesAnybody(client: Redis): Promise<boolean> {
  const { username, password } = client.options;
  if (!isDefaultUser(username) || !password) return false;
  return client.call('AUTH', password).then(
    () => false,
    (error: Error) => /without any password/i.test(error.message),
  );
}

/** Other users have to be made, which nobody does without a password. */
function isDefaultUser(username: string | null | undefined): boolean {
  return (username ?? 'default') === 'default';
}
