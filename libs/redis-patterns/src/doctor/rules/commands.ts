import { known, type NodeFacts } from '../snapshot.js';
import { defineRule, eachNode, percent, round, sinceText, type Found, type Outcome } from './rule.js';

/** A finding for a command that ran at all. */
function* used(
  node: NodeFacts,
  commands: readonly string[],
  severity: Found['severity'],
  limit: number,
): Generator<Found> {
  for (const command of commands) {
    const calls = known(node.counters).calls(command);
    if (calls <= limit) continue;
    yield {
      severity,
      scope: { node: node.node, subject: command },
      measured: calls,
      threshold: limit,
      evidence: `${calls} calls ${sinceText(node)}`,
    };
  }
}

const keys = defineRule({
  id: 'CMD001',
  name: 'keys',
  severities: ['error'],
  measured: 'INFO commandstats: keys',
  when: 'KEYS ran more than {calls} times',
  why: 'KEYS goes through all keys in one step: over a million of them it stops everybody for a third of a second.',
  advice: 'Use SCAN, or an index of the names (tags); take KEYS away from the ACL user.',
  limits: { calls: 0 },
  check: (snapshot, { calls }) => eachNode(snapshot, (node) => used(node, ['keys'], 'error', calls)),
});

const flush = defineRule({
  id: 'CMD002',
  name: 'flush',
  severities: ['error'],
  measured: 'INFO commandstats: flushall, flushdb',
  when: 'FLUSHALL or FLUSHDB ran more than {calls} times',
  why: 'It deletes what belongs to others as well: locks, sessions, streams.',
  advice: 'Evict by tag or prefix; take both away from the ACL user.',
  limits: { calls: 0 },
  check: (snapshot, { calls }) => eachNode(snapshot, (node) => used(node, ['flushall', 'flushdb'], 'error', calls)),
});

const WHOLE_READS = ['hgetall', 'hkeys', 'hvals', 'smembers', 'lrange', 'zrange', 'sort'];

const wholeReads = defineRule({
  id: 'CMD003',
  name: 'whole-reads',
  severities: ['warn'],
  measured: 'INFO commandstats: mean time of hgetall, hkeys, hvals, smembers, lrange, zrange, sort',
  when: 'a call takes more than {ms} ms in the mean (from {calls} calls)',
  why: 'Collections are read whole that are too big for it; everybody else waits meanwhile.',
  advice: 'Read in pages: HSCAN, SSCAN, ZSCAN, LRANGE and ZRANGE with limits.',
  limits: { ms: 1, calls: 10 },
  *check(snapshot, limits) {
    yield* eachNode(snapshot, function* (node) {
      for (const command of WHOLE_READS) {
        const counters = known(node.counters).commands.get(command);
        if (counters === undefined || counters.calls < limits.calls) continue;
        const ms = counters.usec / counters.calls / 1000;
        if (ms <= limits.ms) continue;
        yield {
          severity: 'warn',
          scope: { node: node.node, subject: command },
          measured: round(ms),
          threshold: limits.ms,
          evidence: `${counters.calls} calls ${sinceText(node)} took ${ms.toFixed(1)} ms each`,
        };
      }
    });
  },
});

const slowlog = defineRule({
  id: 'CMD004',
  name: 'slowlog',
  severities: ['warn'],
  measured: 'SLOWLOG GET 128: command and time',
  when: 'an entry took more than {ms} ms',
  why: 'Redis runs one command at a time: for that time nobody was served.',
  advice: 'Look at what that command reads: fewer elements, SCAN, pages, UNLINK instead of DEL.',
  limits: { ms: 10 },
  *check(snapshot, limits) {
    yield* eachNode(snapshot, function* (node) {
      const slow = known(node.slowlog).filter(({ ms }) => ms > limits.ms);
      for (const command of [...new Set(slow.map((entry) => entry.command))].toSorted()) {
        const entries = slow.filter((entry) => entry.command === command);
        const worst = Math.max(...entries.map(({ ms }) => ms));
        yield {
          severity: 'warn',
          scope: { node: node.node, subject: command },
          measured: round(worst, 1),
          threshold: limits.ms,
          evidence: `${entries.length} in the slow log, the slowest took ${worst.toFixed(0)} ms`,
          keys: [...new Set(entries.flatMap(({ key }) => key ?? []))].slice(0, 5),
        };
      }
    });
  },
});

const scripts = defineRule({
  id: 'CMD005',
  name: 'scripts',
  severities: ['warn'],
  measured: 'INFO memory: number_of_cached_scripts',
  when: 'more than {scripts} scripts are cached',
  why: 'Texts are built anew for each call, and Redis keeps every one of them.',
  advice: 'Keep the text of a script constant, and give data in KEYS and ARGV.',
  limits: { scripts: 100 },
  *check(snapshot, limits) {
    yield* eachNode(snapshot, function* (node) {
      const cached = known(node.info).number('number_of_cached_scripts');
      if (cached <= limits.scripts) return;
      yield {
        severity: 'warn',
        scope: { node: node.node },
        measured: cached,
        threshold: limits.scripts,
        evidence: `${cached} scripts are cached`,
      };
    });
  },
});

const failing = defineRule({
  id: 'CMD006',
  name: 'failing',
  severities: ['warn'],
  measured: 'INFO commandstats: failed_calls and rejected_calls',
  when: 'more than {share} of the calls of a command fail (from {calls} calls)',
  why: 'Somebody sends what cannot work, and may not look at the error.',
  advice: 'See ERR001 for the errors; look into the log of the application.',
  limits: { share: 0.01, calls: 100 },
  *check(snapshot, limits) {
    yield* eachNode(snapshot, function* (node): Generator<Outcome> {
      const counters = known(node.counters);
      for (const [command, { calls, failed, rejected }] of counters.commands) {
        // A script that the server does not know yet is no failure: the text follows.
        const expected = command === 'evalsha' ? (counters.errors.get('NOSCRIPT') ?? 0) : 0;
        const failures = failed + rejected - expected;
        const tried = calls + rejected;
        if (tried < limits.calls || failures <= tried * limits.share) continue;
        yield {
          severity: 'warn',
          scope: { node: node.node, subject: command },
          measured: round(failures / tried),
          threshold: limits.share,
          evidence: `${failures} of ${tried} calls failed ${sinceText(node)} (${percent(failures / tried)})`,
        };
      }
    });
  },
});

const monitor = defineRule({
  id: 'CMD007',
  name: 'monitor',
  severities: ['warn'],
  measured: 'INFO commandstats: monitor; CLIENT LIST: flag O',
  when: 'MONITOR ran more than {calls} times, or runs',
  why: 'It copies every command with its arguments to somebody, and halves the throughput.',
  advice: 'Stop it; use SLOWLOG, LATENCY and INFO commandstats.',
  limits: { calls: 0 },
  *check(snapshot, { calls }) {
    yield* eachNode(snapshot, function* (node) {
      const counted = [...used(node, ['monitor'], 'warn', calls)];
      if (counted.length > 0) return yield* counted;
      const watching = known(node.clients).filter(({ flags }) => flags.includes('O')).length;
      if (watching === 0) return;
      const scope = { node: node.node, subject: 'monitor' };
      yield {
        severity: 'warn',
        scope,
        measured: watching,
        threshold: 0,
        evidence: `${watching} clients run MONITOR now`,
      };
    });
  },
});

const setnxExpire = defineRule({
  id: 'CMD008',
  name: 'setnx-expire',
  severities: ['info'],
  measured: 'INFO commandstats: setnx beside expire and pexpire',
  when: 'SETNX and EXPIRE are called equally often, within {tolerance} (from {calls} calls)',
  why: 'Between the two a process may die, and the lock stays for ever.',
  advice: 'Use SET … NX PX, one command.',
  limits: { tolerance: 0.2, calls: 10 },
  *check(snapshot, { tolerance, calls }) {
    yield* eachNode(snapshot, function* (node) {
      const counters = known(node.counters);
      const setnx = counters.calls('setnx');
      const expire = counters.calls('expire') + counters.calls('pexpire');
      if (setnx < calls || Math.abs(setnx - expire) > setnx * tolerance) return;
      yield {
        severity: 'info',
        scope: { node: node.node, subject: 'setnx' },
        measured: setnx,
        threshold: calls,
        evidence: `${setnx} SETNX and ${expire} EXPIRE ${sinceText(node)}`,
      };
    });
  },
});

export const commandRules = [keys, flush, wholeReads, slowlog, scripts, failing, monitor, setnxExpire];
