import type { KeyBuilder } from '../keys/index.js';

const PATTERN = 'stream';

/** Keys of a stream, all in its slot. */
export interface StreamKeys {
  /** `shop:stream:orders`. */
  readonly stream: string;
  /** Sorted set: delayed messages, id -> server time at which each is due. */
  readonly delayed: string;
  /** Hash: delayed messages, id -> packed fields. */
  readonly delayedBody: string;
  /** Hash: group -> since when it has had no member; and which groups are ordered by key. */
  readonly meta: string;
}

/** Keys of one group of a stream, all in the slot of the stream. */
export interface GroupKeys extends StreamKeys {
  /** Stream of retries that are due, and of what was handed over. */
  readonly retries: string;
  /** Sorted set: original id -> server time at which its retry is due. */
  readonly due: string;
  /** Hash: original id -> packed fields. */
  readonly dueBody: string;
  /** Stream of dead letters. */
  readonly deadLetters: string;
  /** Sorted set: consumer -> server time until which it counts as alive. */
  readonly members: string;
  /** Text: id below which the group has finished everything. */
  readonly floor: string;
  /** Text: there while the group is paused. */
  readonly paused: string;
  /** Hash, with `ordering: 'key'`: lane -> original id of the message whose turn it is. */
  readonly lanes: string;
  /** Sorted set, with `ordering: 'key'`: messages that wait for their turn, by lane and original id. */
  readonly parked: string;
}

export function streamKeys(keys: KeyBuilder, name: string): StreamKeys {
  const stream = keys.main(PATTERN, name);
  const companion = (role: string): string => keys.companion(PATTERN, role, stream);
  return {
    stream,
    delayed: companion('delayed'),
    delayedBody: companion('delayed-body'),
    meta: companion('meta'),
  };
}

export function groupKeys(keys: KeyBuilder, name: string, group: string): GroupKeys {
  const common = streamKeys(keys, name);
  const companion = (role: string): string => keys.companion(PATTERN, role, common.stream, group);
  return {
    ...common,
    retries: companion('retry'),
    due: companion('due'),
    dueBody: companion('due-body'),
    deadLetters: companion('dlq'),
    members: companion('members'),
    floor: companion('floor'),
    paused: companion('paused'),
    lanes: companion('lanes'),
    parked: companion('parked'),
  };
}

/** Key that keeps the id of the first message with this dedup id. */
export function dedupKey(keys: KeyBuilder, stream: string, dedupId: string): string {
  return keys.companion(PATTERN, 'dedup', stream, dedupId);
}
