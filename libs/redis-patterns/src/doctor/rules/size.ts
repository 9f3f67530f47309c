import type { SampledKey } from '../snapshot.js';
import { largest } from '../largest.js';
import {
  bytesText,
  defineRule,
  eachPrefix,
  eachStream,
  examples,
  percent,
  round,
  scopeOf,
  type Outcome,
} from './rule.js';

const KB = 1024;
const MB = 1024 * KB;
const DAY = 86_400_000;

const bigValue = defineRule({
  id: 'SIZE001',
  name: 'big-value',
  severities: ['warn', 'error'],
  measured: 'sample: MEMORY USAGE of strings',
  when: 'a string takes more than {warn} bytes (error: {error} bytes)',
  why: 'A big value holds up every other command while it is read, written and sent.',
  advice: 'Compress it, split it, or keep it elsewhere and only a reference here.',
  limits: { warn: 100 * KB, error: MB },
  *check(snapshot, { warn, error }) {
    yield* eachPrefix(snapshot, ['type', 'memory'], function* (prefix) {
      const big = prefix.members.filter(({ type, bytes = 0 }) => type === 'string' && bytes > warn);
      if (big.length === 0) return;
      const biggest = largest(big.map(bytesOf));
      yield {
        severity: biggest > error ? 'error' : 'warn',
        scope: scopeOf(prefix),
        measured: biggest,
        threshold: biggest > error ? error : warn,
        evidence: `${big.length} of ${prefix.members.length} sampled keys, the biggest ${bytesText(biggest)}`,
        keys: examples(big, bytesOf),
      };
    });
  },
});

function bytesOf({ bytes = 0 }: SampledKey): number {
  return bytes;
}

const COLLECTIONS = new Set(['hash', 'list', 'set', 'zset']);

const bigCollection = defineRule({
  id: 'SIZE002',
  name: 'big-collection',
  severities: ['warn', 'error'],
  measured:
    'sample: HLEN, LLEN, SCARD, ZCARD from Redis 7.2 on; before, a count would reset the idle time, so MEMORY USAGE',
  when: 'a collection has more than {warn} elements (error: {error}); not counted: {warnBytes} bytes (error: {errorBytes} bytes)',
  why: 'Whoever reads, deletes or expires it whole stops everybody else for that time, and it cannot be spread over servers.',
  advice: 'Shard it, trim it, and never read it whole: HSCAN, SSCAN, ZSCAN, pages; UNLINK instead of DEL.',
  limits: { warn: 10_000, error: 100_000, warnBytes: MB, errorBytes: 10 * MB },
  *check(snapshot, limits) {
    yield* eachPrefix(snapshot, ['type', 'memory'], function* (prefix): Generator<Outcome> {
      const collections = prefix.members.filter(({ type }) => COLLECTIONS.has(type));
      const counted = collections.filter(({ elements = 0 }) => elements > limits.warn);
      const heavy = collections.filter((key) => key.elements === undefined && bytesOf(key) > limits.warnBytes);
      if (counted.length + heavy.length === 0) return;
      const most = largest(counted.map(({ elements = 0 }) => elements));
      const biggest = largest(heavy.map(bytesOf));
      const error = most > limits.error || biggest > limits.errorBytes;
      yield {
        severity: error ? 'error' : 'warn',
        scope: scopeOf(prefix),
        measured: counted.length > 0 ? most : biggest,
        threshold:
          counted.length > 0 ? (error ? limits.error : limits.warn) : error ? limits.errorBytes : limits.warnBytes,
        evidence: [
          ...(counted.length > 0 ? [`${counted.length} sampled, the biggest has ${most} elements`] : []),
          ...(heavy.length > 0
            ? [`${heavy.length} sampled, the biggest takes ${bytesText(biggest)} (elements not counted)`]
            : []),
        ].join('; '),
        keys: examples([...counted, ...heavy], bytesOf),
      };
    });
  },
});

const share = defineRule({
  id: 'SIZE003',
  name: 'share',
  severities: ['info'],
  measured: 'sample: sum of MEMORY USAGE by prefix',
  when: 'one of several prefixes takes more than {share} of the bytes (servers that use more than {atLeast} bytes)',
  why: 'It decides what is evicted, and how long a restart or a new replica takes, for all the others.',
  advice: 'Give it a memory budget of its own: another instance, or shorter TTLs.',
  limits: { share: 0.5, atLeast: 100 * MB },
  *check(snapshot, limits) {
    const used = Math.max(
      0,
      ...snapshot.nodes.map(({ info }) => ('value' in info ? info.value.number('used_memory') : 0)),
    );
    const total = sum(snapshot.prefixes.flatMap(({ members }) => members));
    if (used < limits.atLeast || snapshot.prefixes.length < 2) return;
    yield* eachPrefix(snapshot, ['memory'], function* (prefix) {
      const part = sum(prefix.members) / total;
      if (part <= limits.share) return;
      yield {
        severity: 'info',
        scope: scopeOf(prefix),
        measured: round(part),
        threshold: limits.share,
        evidence: `${percent(part)} of the sampled bytes, in ${prefix.members.length} of ${snapshot.sample.keys} keys`,
      };
    });
  },
});

function sum(keys: readonly SampledKey[]): number {
  return keys.reduce((total, key) => total + bytesOf(key), 0);
}

const longKeys = defineRule({
  id: 'SIZE004',
  name: 'long-keys',
  severities: ['info'],
  measured: 'sample: length of the names',
  when: 'a name is longer than {bytes} bytes',
  why: 'Names stay in memory and travel with every command.',
  advice: 'Hash the long parts.',
  limits: { bytes: 200 },
  *check(snapshot, limits) {
    yield* eachPrefix(snapshot, [], function* (prefix) {
      const long = prefix.members.filter(({ length }) => length > limits.bytes);
      if (long.length === 0) return;
      const longest = largest(long.map(({ length }) => length));
      yield {
        severity: 'info',
        scope: scopeOf(prefix),
        measured: longest,
        threshold: limits.bytes,
        evidence: `${long.length} of ${prefix.members.length} sampled names, the longest has ${longest} bytes`,
        keys: examples(long, ({ length }) => length),
      };
    });
  },
});

const growingStream = defineRule({
  id: 'SIZE005',
  name: 'growing-stream',
  severities: ['warn'],
  measured: 'XINFO STREAM: length, time of the first entry',
  when: 'a stream has more than {entries} entries, or one that is older than {age} ms',
  why: 'Nothing trims it, so it grows until the memory is full.',
  advice: 'Set a retention: XADD … MAXLEN ~ or MINID ~; `retention` for streams of this library.',
  limits: { entries: 1_000_000, age: 7 * DAY },
  *check(snapshot, { entries, age }) {
    yield* eachStream(snapshot, function* (stream) {
      const long = stream.length > entries;
      if (!long && stream.age <= age) return;
      const days = Math.floor(stream.age / DAY);
      yield {
        severity: 'warn',
        scope: { prefix: stream.prefix },
        measured: long ? stream.length : `${days} d`,
        threshold: long ? entries : `${age / DAY} d`,
        evidence: `${stream.length} entries, the first is ${days} days old`,
        keys: [stream.key],
      };
    });
  },
});

export const sizeRules = [bigValue, bigCollection, share, longKeys, growingStream];
