import { known, Unknown, type SampledKey, type Snapshot } from '../snapshot.js';
import { defineRule, eachNode, eachPrefix, percent, policyOf, round, scopeOf, type Outcome } from './rule.js';

const GB = 1024 ** 3;

const hotKey = defineRule({
  id: 'HOT001',
  name: 'hot-key',
  severities: ['warn'],
  measured: 'sample: OBJECT FREQ, with an LFU policy',
  when: 'a key has more than {share} of the accesses (from {accesses} in the sample)',
  why: 'One key lives on one server and one thread: it cannot be spread.',
  advice: 'Keep it in the memory of the processes for a moment (cache.l1).',
  limits: { share: 0.1, accesses: 1000 },
  *check(snapshot, limits) {
    const answered = snapshot.nodes.filter((node) => 'value' in node.info);
    if (!answered.some((node) => policyOf(node).endsWith('lfu'))) {
      for (const node of snapshot.nodes) known(node.info);
      throw new Unknown('needs a maxmemory-policy of LFU');
    }
    const total = snapshot.prefixes.flatMap(({ members }) => members).reduce((sum, key) => sum + accesses(key), 0);
    const all = total * Math.max(1, snapshot.sample.of / Math.max(1, snapshot.sample.keys));
    yield* eachPrefix(snapshot, ['frequency'], function* (prefix) {
      const hottest = prefix.members.toSorted((one, other) => accesses(other) - accesses(one))[0]!;
      const share = accesses(hottest) / all;
      if (total < limits.accesses || share <= limits.share) return;
      const evidence = `one key has about ${percent(share)} of the accesses`;
      yield {
        severity: 'warn',
        scope: scopeOf(prefix),
        measured: round(share, 2),
        threshold: limits.share,
        evidence,
        keys: [hottest.name],
      };
    });
  },
});

/** New keys begin at 5, and each step needs more accesses than the one before (Redis docs, "LFU eviction", lfu-log-factor 10). */
function accesses({ frequency = 0 }: SampledKey): number {
  const steps = Math.max(0, frequency - 5);
  return steps * (5 * (steps - 1) + 1);
}

const latency = defineRule({
  id: 'LAT001',
  name: 'latency',
  severities: ['warn'],
  measured: 'LATENCY LATEST (with latency-monitor-threshold), LATENCY HISTOGRAM',
  when: 'an event took more than {ms} ms, or 1 % of the calls of a command do (from {calls} calls)',
  why: 'Everybody waited for that time.',
  advice: 'See the event: fork (PER004), expire-cycle (TTL004), command (CMD004), aof (disk).',
  limits: { ms: 10, calls: 100 },
  *check(snapshot, limits) {
    yield* eachNode(snapshot, function* (node): Generator<Outcome> {
      for (const [event, ms] of known(node.events)) {
        if (ms <= limits.ms) continue;
        const scope = { node: node.node, subject: event };
        yield {
          severity: 'warn',
          scope,
          measured: ms,
          threshold: limits.ms,
          evidence: `the longest ${event} took ${ms} ms`,
        };
      }
      for (const [command, { p99, calls }] of known(node.latencies)) {
        if (p99 <= limits.ms || calls < limits.calls) continue;
        const scope = { node: node.node, subject: command };
        yield {
          severity: 'warn',
          scope,
          measured: round(p99, 0),
          threshold: limits.ms,
          evidence: `1 % of ${calls} calls took ${p99.toFixed(0)} ms`,
        };
      }
    });
  },
});

const fragmentation = defineRule({
  id: 'MEM001',
  name: 'fragmentation',
  severities: ['warn', 'error'],
  measured: 'INFO memory: mem_fragmentation_ratio, used_memory',
  when: 'the ratio is above {high}, or below {low} (error), from {bytes} bytes on',
  why: 'Above: memory that is taken and not used. Below: a part of the data is swapped out, and each access to it waits for a disk.',
  advice: 'Above: activedefrag yes. Below: more memory, or a lower maxmemory.',
  limits: { high: 1.5, low: 1, bytes: GB },
  *check(snapshot: Snapshot, { high, low, bytes }) {
    yield* eachNode(snapshot, function* (node) {
      const info = known(node.info);
      const ratio = info.number('mem_fragmentation_ratio');
      if (info.number('used_memory') <= bytes || (ratio <= high && ratio >= low)) return;
      const swapped = ratio < low;
      yield {
        severity: swapped ? 'error' : 'warn',
        scope: { node: node.node },
        measured: ratio,
        threshold: swapped ? low : high,
        evidence: swapped ? 'less memory is resident than is used' : 'more memory is taken than is used',
        ...(swapped ? {} : { commands: ['CONFIG SET activedefrag yes'] }),
      };
    });
  },
});

export const serverRules = [hotKey, latency, fragmentation];
