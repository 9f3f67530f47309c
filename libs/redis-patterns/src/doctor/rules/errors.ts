import { known } from '../snapshot.js';
import { defineRule, eachNode, round, sinceText } from './rule.js';

const MEANINGS: Readonly<Record<string, string>> = {
  OOM: 'the memory is full and nothing may be evicted',
  MISCONF: 'Redis cannot save, and takes no writes',
  READONLY: 'somebody writes to a replica',
  NOREPLICAS: 'too few replicas are near enough',
  BUSY: 'a script runs and does not end',
  NOPERM: 'a user lacks a right',
  WRONGPASS: 'somebody comes with a wrong password',
  CROSSSLOT: 'keys of one command are in different slots',
};

const errorReplies = defineRule({
  id: 'ERR001',
  name: 'replies',
  severities: ['warn', 'error'],
  measured: 'INFO errorstats',
  when: 'there were OOM, MISCONF, READONLY, NOREPLICAS, BUSY, NOPERM, WRONGPASS or CROSSSLOT, or more than {moved} of the commands were MOVED',
  why: 'Each of these was an operation that did not happen.',
  advice:
    'OOM: maxmemory and TTLs. MISCONF: disk. READONLY: follow failovers. NOREPLICAS: replicas. BUSY: shorter scripts. NOPERM, WRONGPASS: the ACL user. CROSSSLOT: hash tags. MOVED: a Cluster client.',
  limits: { moved: 0.01 },
  *check(snapshot, limits) {
    yield* eachNode(snapshot, function* (node) {
      const counters = known(node.counters);
      for (const [word, meaning] of Object.entries(MEANINGS)) {
        const count = counters.errors.get(word) ?? 0;
        if (count === 0) continue;
        const scope = { node: node.node, subject: word };
        yield {
          severity: 'error',
          scope,
          measured: count,
          threshold: 0,
          evidence: `${count} times ${sinceText(node)}: ${meaning}`,
        };
      }
      const moved = counters.errors.get('MOVED') ?? 0;
      const commands = counters.number('total_commands_processed');
      if (moved <= commands * limits.moved) return;
      yield {
        severity: 'warn',
        scope: { node: node.node, subject: 'MOVED' },
        measured: round(moved / commands),
        threshold: limits.moved,
        evidence: `${moved} of ${commands} commands ${sinceText(node)} came to the wrong node`,
      };
    });
  },
});

export const errorRules = [errorReplies];
