import { Unknown, type GroupFacts, type Snapshot, type StreamFacts } from '../snapshot.js';
import { defineRule, eachStream, type Outcome } from './rule.js';

const DAY = 86_400_000;

/** Checks each group; a stream whose groups may not be asked is "not checked". */
function* eachGroup(
  snapshot: Snapshot,
  check: (group: GroupFacts, stream: StreamFacts) => Iterable<Outcome>,
): Generator<Outcome> {
  yield* eachStream(snapshot, function* (stream) {
    if ('reason' in stream.groups) yield { reason: stream.groups.reason };
    else for (const group of stream.groups.value) yield* check(group, stream);
  });
}

function scopeOf({ prefix }: StreamFacts, { name }: GroupFacts): { prefix: string; group: string } {
  return { prefix, group: name };
}

const oldPending = defineRule({
  id: 'STR001',
  name: 'old-pending',
  severities: ['error'],
  measured: 'XPENDING: idle time of the ten oldest pending entries',
  when: 'an entry was delivered more than {idle} ms ago and is still pending',
  why: 'Its consumer is dead or stuck, and nobody takes the entry over.',
  advice: 'Start consumers that claim (StreamRuntime does); look at what the handler hangs in.',
  limits: { idle: 300_000 },
  *check(snapshot, { idle }) {
    yield* eachGroup(snapshot, function* (group, stream) {
      if (group.pending === 0 || group.oldestIdle <= idle) return;
      yield {
        severity: 'error',
        scope: scopeOf(stream, group),
        measured: `more than ${floorTime(group.oldestIdle)}`,
        threshold: `${idle / 1000} s`,
        evidence: `${group.pending} entries are pending, the oldest for more than ${floorTime(group.oldestIdle)}`,
        keys: [stream.key],
      };
    });
  },
});

/** Whole minutes, hours or days: the same state reads the same a moment later. */
function floorTime(ms: number): string {
  if (ms >= DAY) return `${Math.floor(ms / DAY)} d`;
  return ms >= 3_600_000 ? `${Math.floor(ms / 3_600_000)} h` : `${Math.floor(ms / 60_000)} min`;
}

const lagGrows = defineRule({
  id: 'STR002',
  name: 'lag',
  severities: ['warn'],
  measured: 'XINFO GROUPS: lag, three times in the window',
  when: 'the lag of a group grows each time, by more than {entries} in all',
  why: 'The consumers are slower than the producers.',
  advice: 'More concurrency, more replicas of the consumer, cheaper handlers.',
  limits: { entries: 0 },
  *check(snapshot, { entries }) {
    if (snapshot.windowMs === 0) throw new Unknown('needs a window');
    yield* eachGroup(snapshot, function* (group, stream) {
      const [first, middle, last] = group.lag;
      if (first === undefined || middle === undefined || last === undefined) {
        yield { reason: `Redis does not know the lag of a group of ${stream.prefix}` };
        return;
      }
      if (middle <= first || last <= middle || last - first <= entries) return;
      const evidence = `it grew from ${first} to ${last} entries in ${snapshot.windowMs / 1000} s`;
      yield { severity: 'warn', scope: scopeOf(stream, group), measured: last - first, threshold: entries, evidence };
    });
  },
});

const deadConsumers = defineRule({
  id: 'STR003',
  name: 'dead-consumers',
  severities: ['info', 'error'],
  measured: 'XINFO CONSUMERS: idle, pending',
  when: 'a consumer has been idle for more than {idle} ms (error when it holds pending entries)',
  why: 'It is gone. Its name stays, and what it had taken stays with it.',
  advice: 'XAUTOCLAIM its entries, then XGROUP DELCONSUMER.',
  limits: { idle: DAY },
  *check(snapshot, { idle }) {
    yield* eachGroup(snapshot, function* (group, stream): Generator<Outcome> {
      const dead = group.consumers.filter((consumer) => consumer.idle > idle);
      const holding = dead.filter(({ pending }) => pending > 0);
      if (dead.length === 0) return;
      yield {
        severity: holding.length > 0 ? 'error' : 'info',
        scope: scopeOf(stream, group),
        measured: dead.length,
        threshold: 0,
        evidence: `${dead.length} of ${group.consumers.length} consumers, ${holding.length} of them with pending entries`,
        keys: [stream.key],
      };
    });
  },
});

const deadLetters = defineRule({
  id: 'STR004',
  name: 'dead-letters',
  severities: ['warn'],
  measured: 'length of the streams of dead letters (`<ns>:stream~dlq:…`)',
  when: 'a stream of dead letters has more than {entries} entries; with a window: more than it had before',
  why: 'These messages were given up; nobody has done what they asked for.',
  advice: 'Look at them (StreamAdmin.deadLetters), mend the handler, replay or purge them.',
  limits: { entries: 0 },
  *check(snapshot, { entries }) {
    yield* eachStream(snapshot, function* (stream) {
      if (!stream.deadLetters) return;
      const grown = stream.laterLength === undefined ? stream.length : stream.laterLength - stream.length;
      if (grown <= entries) return;
      const evidence =
        stream.laterLength === undefined ? `${grown} dead letters` : `${grown} more dead letters in the window`;
      yield {
        severity: 'warn',
        scope: { prefix: stream.prefix },
        measured: grown,
        threshold: entries,
        evidence,
        keys: [stream.key],
      };
    });
  },
});

const abandoned = defineRule({
  id: 'STR005',
  name: 'abandoned-group',
  severities: ['warn'],
  measured: 'XINFO GROUPS, XINFO CONSUMERS: consumers, idle, last delivery, lag',
  when: 'no consumer was active for {abandonAfter} ms, and entries wait for the group',
  why: 'Entries are kept for a group that nobody reads for, so the stream cannot be trimmed to what is needed.',
  advice: 'Start its consumer, or XGROUP DESTROY.',
  limits: { abandonAfter: 7 * DAY },
  *check(snapshot, { abandonAfter }) {
    yield* eachGroup(snapshot, function* (group, stream) {
      const alive = group.consumers.some(({ idle }) => idle <= abandonAfter);
      const waiting = group.pending + (group.lag[0] ?? 0);
      if (alive || waiting === 0 || (group.quietFor ?? 0) <= abandonAfter) return;
      yield {
        severity: 'warn',
        scope: scopeOf(stream, group),
        measured: waiting,
        threshold: 0,
        evidence: `${waiting} entries wait, and none of ${group.consumers.length} consumers was active`,
        keys: [stream.key],
      };
    });
  },
});

export const streamRules = [oldPending, lagGrows, deadConsumers, deadLetters, abandoned];
