import { COLLECTIONS } from './collections.js';
import { ReplyError, type Keyspace, type Reply } from './keyspace.js';
import { PENDING } from './pending.js';
import { SORTED_SETS } from './sorted-sets.js';
import { STREAMS } from './streams.js';
import { TEXTS } from './texts.js';

/** A command: its arguments are texts, as on the wire. */
export type Command = (space: Keyspace, args: string[]) => Reply;

const COMMANDS: Readonly<Record<string, Command>> = {
  ...TEXTS,
  ...COLLECTIONS,
  ...SORTED_SETS,
  ...STREAMS,
  ...PENDING,
};

/** @throws ReplyError also for a command that is not there, with what to do */
export function runCommand(space: Keyspace, name: string, args: string[]): Reply {
  const command = COMMANDS[name];
  if (command !== undefined) return command(space, args);
  throw new ReplyError(
    `ERR unknown command '${name}': it is not in the Redis in memory; use startTestRedis() for the real one`,
  );
}
