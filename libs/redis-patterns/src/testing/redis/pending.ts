// Commands on what was delivered and not acknowledged.
import { integer, Options } from './arguments.js';
import type { Command } from './commands.js';
import type { Keyspace, Reply } from './keyspace.js';
import {
  between,
  compareIds,
  idText,
  parseId,
  setPending,
  type MemoryStream,
  type Pending,
  type StreamGroup,
} from './stream.js';
import { entryReply, groupOf } from './streams.js';

function acknowledge(space: Keyspace, [key = '', name = '', ...ids]: string[]): number {
  const group = space.get('stream', key)?.groups.get(name);
  return group === undefined ? 0 : ids.filter((id) => group.pending.delete(idText(parseId(id)))).length;
}

function pending(space: Keyspace, [key = '', name = '', ...rest]: string[]): Reply {
  const { group } = groupOf(space, key, name);
  const all = [...group.pending];
  if (rest.length === 0) return summary(all);
  const options = new Options(rest);
  const idle = options.flag('IDLE') ? integer(options.next()) : 0;
  const inside = between(options.next(), options.next());
  const count = integer(options.next());
  const consumer = options.more ? options.next() : undefined;
  return all
    .filter(
      ([id, each]) =>
        inside(parseId(id)) &&
        space.now - each.deliveredAt >= idle &&
        (consumer === undefined || each.consumer === consumer),
    )
    .slice(0, count)
    .map(([id, each]) => [id, each.consumer, space.now - each.deliveredAt, each.deliveries]);
}

function summary(all: [string, Pending][]): Reply {
  if (all.length === 0) return [0, null, null, null];
  const counts = new Map<string, number>();
  for (const [, { consumer }] of all) counts.set(consumer, (counts.get(consumer) ?? 0) + 1);
  return [all.length, all[0]![0], all.at(-1)![0], [...counts].map(([consumer, n]) => [consumer, String(n)])];
}

interface Claim {
  readonly consumer: string;
  readonly idle: number | undefined;
  readonly deliveries: number | undefined;
  readonly justId: boolean;
}

function take(space: Keyspace, stream: MemoryStream, group: StreamGroup, id: string, claim: Claim): Reply | undefined {
  const { consumer, idle = 0, deliveries, justId } = claim;
  const entry = stream.find(id);
  const held = group.pending.get(id);
  if (entry === undefined) {
    group.pending.delete(id);
    return undefined;
  }
  const count = deliveries ?? (held?.deliveries ?? 0) + (justId ? 0 : 1);
  setPending(group, id, { consumer, deliveredAt: space.now - idle, deliveries: count });
  return justId ? id : entryReply(entry);
}

function claim(space: Keyspace, [key = '', name = '', consumer = '', minIdle, ...rest]: string[]): Reply {
  const { stream, group } = groupOf(space, key, name);
  group.consumers.set(consumer, space.now);
  const ids = rest.filter(
    (word, index) => /^\d+(-\d+)?$/.test(word) && rest.slice(0, index).every((w) => /^\d/.test(w)),
  );
  const options = new Options(rest.slice(ids.length));
  let [idle, deliveries]: (number | undefined)[] = [];
  let [justId, force] = [false, false];
  while (options.more) {
    if (options.flag('IDLE')) idle = integer(options.next());
    else if (options.flag('TIME')) idle = space.now - integer(options.next());
    else if (options.flag('RETRYCOUNT')) deliveries = integer(options.next());
    else if (options.flag('FORCE')) force = true;
    else if (options.flag('JUSTID')) justId = true;
    else if (options.flag('LASTID')) options.next();
    else options.fail();
  }
  return ids.flatMap((id) => {
    const held = group.pending.get(idText(parseId(id)));
    if (held === undefined ? !force : space.now - held.deliveredAt < integer(minIdle)) return [];
    const taken = take(space, stream, group, idText(parseId(id)), { consumer, idle, deliveries, justId });
    return taken === undefined ? [] : [taken];
  });
}

function autoClaim(
  space: Keyspace,
  [key = '', name = '', consumer = '', minIdle, start = '', ...rest]: string[],
): Reply {
  const { stream, group } = groupOf(space, key, name);
  group.consumers.set(consumer, space.now);
  const options = new Options(rest);
  let [count, justId] = [100, false];
  while (options.more) {
    if (options.flag('COUNT')) count = integer(options.next());
    else if (options.flag('JUSTID')) justId = true;
    else options.fail();
  }
  const from = [...group.pending].filter(([id]) => compareIds(parseId(id), parseId(start)) >= 0);
  const [claimed, deleted]: [Reply[], string[]] = [[], []];
  let examined = 0;
  for (const [id, { deliveredAt }] of from) {
    if (claimed.length >= count || examined >= count * 10) break;
    examined++;
    if (space.now - deliveredAt < integer(minIdle)) continue;
    const taken = take(space, stream, group, id, { consumer, idle: undefined, deliveries: undefined, justId });
    if (taken === undefined) deleted.push(id);
    else claimed.push(taken);
  }
  return [from[examined]?.[0] ?? '0-0', claimed, deleted];
}

export const PENDING: Record<string, Command> = {
  XACK: acknowledge,
  XPENDING: pending,
  XCLAIM: claim,
  XAUTOCLAIM: autoClaim,
};
