// Commands on streams; those on what is pending stand in pending.ts.
import { integer, Options } from './arguments.js';
import type { Command } from './commands.js';
import { ReplyError, type Keyspace, type Reply } from './keyspace.js';
import {
  between,
  compareIds,
  idText,
  MemoryStream,
  parseId,
  setPending,
  type StreamEntry,
  type StreamGroup,
} from './stream.js';

const make = () => new MemoryStream();

export const entryReply = ({ id, fields }: StreamEntry): Reply => [idText(id), [...fields]];

/** @throws ReplyError NOGROUP */
export function groupOf(space: Keyspace, key: string, name: string): { stream: MemoryStream; group: StreamGroup } {
  const stream = space.get('stream', key);
  const group = stream?.groups.get(name);
  if (stream !== undefined && group !== undefined) return { stream, group };
  throw new ReplyError(`NOGROUP No such key '${key}' or consumer group '${name}'`);
}

interface Trimming {
  readonly by: 'MAXLEN' | 'MINID';
  readonly threshold: string;
}

function trimming(options: Options): Trimming | undefined {
  const by = options.flag('MAXLEN') ? 'MAXLEN' : options.flag('MINID') ? 'MINID' : undefined;
  if (by === undefined) return undefined;
  if (!options.flag('~')) options.flag('=');
  const threshold = options.next();
  if (options.flag('LIMIT')) options.next();
  return { by, threshold };
}

function trim(stream: MemoryStream, { by, threshold }: Trimming): number {
  return by === 'MAXLEN' ? stream.trimToLength(integer(threshold)) : stream.trimBelow(parseId(threshold));
}

function add(space: Keyspace, [key = '', ...rest]: string[]): Reply {
  const options = new Options(rest);
  if (options.flag('NOMKSTREAM') && space.get('stream', key) === undefined) return null;
  const bound = trimming(options);
  const given = options.next();
  const fields = options.rest();
  if (fields.length === 0 || fields.length % 2 === 1) throw new ReplyError('ERR wrong number of arguments for XADD');
  const stream = space.open('stream', key, make);
  const id = given === '*' ? stream.nextId(space.now) : parseId(given.replace('-*', ''));
  stream.add(id, fields);
  if (bound !== undefined) trim(stream, bound);
  return idText(id);
}

function range(space: Keyspace, [key = '', start = '', end = '', ...rest]: string[], reverse: boolean): Reply {
  const [low, high] = reverse ? [end, start] : [start, end];
  const inside = between(low, high);
  const options = new Options(rest);
  const count = options.flag('COUNT') ? integer(options.next()) : Infinity;
  const found = (space.get('stream', key)?.entries ?? []).filter(({ id }) => inside(id));
  return (reverse ? found.reverse() : found).slice(0, count).map((entry) => entryReply(entry));
}

function group(space: Keyspace, [action = '', key = '', name = '', ...rest]: string[]): Reply {
  if (action.toUpperCase() === 'CREATE') return createGroup(space, key, name, rest);
  const stream = space.get('stream', key);
  if (action.toUpperCase() === 'DESTROY') return stream?.groups.delete(name) === true ? 1 : 0;
  const { group: found } = groupOf(space, key, name);
  const [consumer = ''] = rest;
  switch (action.toUpperCase()) {
    case 'SETID':
      found.lastId = consumer === '$' ? stream!.lastId : parseId(consumer);
      return 'OK';
    case 'CREATECONSUMER':
      if (found.consumers.has(consumer)) return 0;
      found.consumers.set(consumer, space.now);
      return 1;
    case 'DELCONSUMER': {
      const gone = [...found.pending].filter(([, each]) => each.consumer === consumer);
      for (const [id] of gone) found.pending.delete(id);
      found.consumers.delete(consumer);
      return gone.length;
    }
    default:
      throw new ReplyError(`ERR unknown subcommand '${action}'`);
  }
}

function createGroup(space: Keyspace, key: string, name: string, [start = '', ...rest]: string[]): Reply {
  const makes = rest.some((word) => word.toUpperCase() === 'MKSTREAM');
  if (!makes && space.get('stream', key) === undefined) {
    throw new ReplyError(
      'ERR The XGROUP subcommand requires the key to exist. Note that for CREATE you may use MKSTREAM',
    );
  }
  const stream = space.open('stream', key, make);
  if (stream.groups.has(name)) throw new ReplyError('BUSYGROUP Consumer Group name already exists');
  const lastId = start === '$' ? stream.lastId : parseId(start);
  const entriesRead = stream.added - stream.entries.filter(({ id }) => compareIds(id, lastId) > 0).length;
  stream.groups.set(name, { lastId, pending: new Map(), consumers: new Map(), entriesRead });
  return 'OK';
}

/** What a XREADGROUP finds now; `null` when there is nothing. */
export function readGroup(space: Keyspace, args: string[]): Reply {
  const options = new Options(args);
  if (!options.flag('GROUP')) options.fail();
  const [name, consumer] = [options.next(), options.next()];
  let [count, noAck] = [Infinity, false];
  while (!options.flag('STREAMS')) {
    if (options.flag('COUNT')) count = integer(options.next());
    else if (options.flag('BLOCK')) options.next();
    else if (options.flag('NOACK')) noAck = true;
    else options.fail();
  }
  const words = options.rest();
  const keys = words.slice(0, words.length / 2);
  const replies = keys.flatMap((key, index): Reply[] => {
    const { stream, group: found } = groupOf(space, key, name);
    found.consumers.set(consumer, space.now);
    const after = words[keys.length + index]!;
    const entries =
      after === '>'
        ? deliver(space, stream, found, consumer, count, noAck)
        : again(space, stream, found, consumer, after, count);
    return entries.length === 0 && after === '>' ? [] : [[key, entries]];
  });
  return replies.length === 0 ? null : replies;
}

function deliver(
  { now }: Keyspace,
  stream: MemoryStream,
  found: StreamGroup,
  consumer: string,
  count: number,
  noAck: boolean,
): Reply[] {
  const fresh = stream.entries.filter(({ id }) => compareIds(id, found.lastId) > 0).slice(0, count);
  for (const { id } of fresh) {
    found.lastId = id;
    found.entriesRead++;
    if (!noAck) setPending(found, idText(id), { consumer, deliveredAt: now, deliveries: 1 });
  }
  return fresh.map((entry) => entryReply(entry));
}

/** What is pending of the consumer itself. */
function again(
  { now }: Keyspace,
  stream: MemoryStream,
  found: StreamGroup,
  consumer: string,
  after: string,
  count: number,
): Reply[] {
  const own = [...found.pending].filter(
    ([id, each]) => each.consumer === consumer && compareIds(parseId(id), parseId(after)) > 0,
  );
  return own.slice(0, count).map(([id, each]) => {
    each.deliveries++;
    each.deliveredAt = now;
    return [id, [...(stream.find(id)?.fields ?? [])]];
  });
}

function info(space: Keyspace, [what = '', key = '', name = '']: string[]): Reply {
  const stream = space.get('stream', key);
  if (stream === undefined) throw new ReplyError('ERR no such key');
  switch (what.toUpperCase()) {
    case 'STREAM': {
      const ends = [stream.entries[0], stream.entries.at(-1)].map((entry) => (entry ? entryReply(entry) : null));
      const facts = ['length', stream.entries.length, 'last-generated-id', idText(stream.lastId)];
      return [
        ...facts,
        'entries-added',
        stream.added,
        'groups',
        stream.groups.size,
        'first-entry',
        ends[0]!,
        'last-entry',
        ends[1]!,
      ];
    }
    case 'GROUPS':
      return [...stream.groups].map(([each, found]) => groupInfo(stream, each, found));
    default: {
      const { group: found } = groupOf(space, key, name);
      return [...found.consumers].map(([consumer, seenAt]) => {
        const pending = [...found.pending.values()].filter((each) => each.consumer === consumer).length;
        return ['name', consumer, 'pending', pending, 'idle', space.now - seenAt];
      });
    }
  }
}

function groupInfo(
  stream: MemoryStream,
  name: string,
  { lastId, pending, consumers, entriesRead }: StreamGroup,
): Reply {
  const lag = stream.entries.filter(({ id }) => compareIds(id, lastId) > 0).length;
  const counts = ['name', name, 'consumers', consumers.size, 'pending', pending.size];
  return [...counts, 'last-delivered-id', idText(lastId), 'entries-read', entriesRead, 'lag', lag];
}

export const STREAMS: Record<string, Command> = {
  XADD: add,
  XLEN: (space, [key = '']) => space.get('stream', key)?.entries.length ?? 0,
  XRANGE: (space, args) => range(space, args, false),
  XREVRANGE: (space, args) => range(space, args, true),
  XDEL: (space, [key = '', ...ids]) => space.get('stream', key)?.delete(ids) ?? 0,
  XTRIM: (space, [key = '', ...rest]) => {
    const options = new Options(rest);
    const bound = trimming(options) ?? options.fail();
    const stream = space.get('stream', key);
    return stream === undefined ? 0 : trim(stream, bound);
  },
  XGROUP: group,
  XINFO: info,
  XREADGROUP: readGroup,
};
