import type { KeyBuilder } from '../keys/index.js';

const PATTERN = 'stream';

/** Key of a stream: `shop:stream:orders`. */
export function streamKey(keys: KeyBuilder, name: string): string {
  return keys.main(PATTERN, name);
}

/** Keys of one group of a stream, all in the slot of the stream. */
export interface GroupKeys {
  readonly stream: string;
  /** Stream of dead letters. */
  readonly deadLetters: string;
  /** Sorted set: consumer -> server time of its last tick. */
  readonly members: string;
  /** Text: id below which the group has finished everything. */
  readonly floor: string;
  /** Hash: failed attempts by entry id. */
  readonly tries: string;
}

export function groupKeys(keys: KeyBuilder, name: string, group: string): GroupKeys {
  const stream = streamKey(keys, name);
  const companion = (role: string): string => keys.companion(PATTERN, role, stream, group);
  return {
    stream,
    deadLetters: companion('dlq'),
    members: companion('members'),
    floor: companion('floor'),
    tries: companion('tries'),
  };
}
