/** One line of CLIENT LIST, as far as rules look at it. */
export interface ClientLine {
  readonly name: string;
  readonly host: string;
  readonly flags: string;
  readonly command: string;
  readonly outputBytes: number;
  readonly queryBytes: number;
  readonly totalBytes: number;
}

/** One entry of the slow log, without arguments. */
export interface SlowCommand {
  readonly command: string;
  readonly ms: number;
  /** Its first key, to find the prefix of; it is not told. */
  readonly key: string | undefined;
}

export function parseClients(text: string): ClientLine[] {
  return text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const fields = new Map(
        line.split(' ').map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]),
      );
      const number = (name: string): number => Number(fields.get(name) ?? 0);
      return {
        name: fields.get('name') ?? '',
        host: (fields.get('addr') ?? '').replace(/:\d+$/, ''),
        flags: fields.get('flags') ?? '',
        command: fields.get('cmd') ?? '',
        outputBytes: number('omem'),
        queryBytes: number('qbuf'),
        totalBytes: number('tot-mem'),
      };
    });
}

/** Commands whose second word says what they do. */
const CONTAINERS = new Set([
  'debug',
  'config',
  'client',
  'memory',
  'object',
  'xinfo',
  'xgroup',
  'cluster',
  'acl',
  'script',
  'function',
  'latency',
  'slowlog',
  'command',
]);
/** Commands whose first argument is no key. */
const KEYLESS = new Set([
  ...CONTAINERS,
  'eval',
  'evalsha',
  'eval_ro',
  'evalsha_ro',
  'fcall',
  'fcall_ro',
  'scan',
  'keys',
  'auth',
  'hello',
  'info',
  'flushall',
  'flushdb',
  'publish',
  'spublish',
  'select',
  'xread',
  'xreadgroup',
  'multi',
  'exec',
  'ping',
  'save',
  'bgsave',
]);

/** @param own name of the sockets whose commands do not count */
export function parseSlowlog(reply: unknown, own: string): SlowCommand[] {
  return (reply as [number, number, number, Buffer[], Buffer?, Buffer?][])
    .filter(([, , , , , client]) => client?.toString() !== own)
    .map(([, , usec, args]) => {
      const [command = '', second] = args.map(String);
      const name = command.toLowerCase();
      // A word of Redis, never an argument that somebody has made up.
      const word = CONTAINERS.has(name) && /^[a-z-]{1,20}$/i.test(second ?? '') ? ` ${second!.toLowerCase()}` : '';
      return { command: `${name}${word}`, ms: usec / 1000, key: KEYLESS.has(name) ? undefined : second };
    });
}

/** LATENCY LATEST: the worst milliseconds of each event. */
export function parseLatencyEvents(reply: unknown): Map<string, number> {
  const events = reply as [Buffer, number, number, number][];
  return new Map(events.map(([name, , , worst]) => [name.toString(), worst]));
}

/** LATENCY HISTOGRAM: cumulative counts by microseconds, in powers of two; the bucket in which the 99th percentile is. */
export function parseHistogram(reply: unknown): Map<string, { p99: number; calls: number }> {
  const flat = reply as (Buffer | unknown[])[];
  const result = new Map<string, { p99: number; calls: number }>();
  for (let index = 0; index + 1 < flat.length; index += 2) {
    const fields = flat[index + 1] as unknown[];
    const calls = Number(fields[fields.findIndex((field) => String(field) === 'calls') + 1]);
    const buckets = fields[fields.findIndex((field) => String(field) === 'histogram_usec') + 1] as number[];
    for (let at = 0; at + 1 < buckets.length; at += 2) {
      if (buckets[at + 1]! < calls * 0.99) continue;
      result.set(String(flat[index]), { p99: buckets[at]! / 1000, calls });
      break;
    }
  }
  return result;
}

/** A flat list of names and values. */
export function pairsOf(reply: unknown): Map<string, unknown> {
  const flat = reply as unknown[];
  const result = new Map<string, unknown>();
  for (let index = 0; index + 1 < flat.length; index += 2) result.set(String(flat[index]), flat[index + 1]);
  return result;
}
