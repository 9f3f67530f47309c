import { describe, expect, it } from '@jest/globals';
import { DoctorService, type DoctorReport, type ExamineOptions } from 'nestjs-redis-patterns';
import { reportText } from '../../../libs/redis-patterns/src/doctor/cli/text.js';
import { ALLOWED_COMMANDS } from '../../../libs/redis-patterns/src/doctor/collect/read-only-client.js';
import { useOwn, type PlainConnection } from '../../support/topologies.js';
import { CALM } from './healthy-server.js';

/** What opens a socket. */
const OPENING = ['auth', 'client|setname'];
/** What this spec, replicas and Sentinels send meanwhile. */
const OTHERS = ['info', 'ping', 'replconf', 'publish', 'subscribe', 'client|kill', 'role', 'wait'];
const WORDS = 'canary';
const namespace = 'shop';
const IDLE_SECONDS = 5000;

/** Names as they must not be told: an address, ids, tokens, names of people, in every place of a key. */
function canaryKeys(): string[] {
  return [
    `${namespace}:cache:mail:anna.${WORDS}@example.com`,
    `${namespace}:cache:product:${WORDS}`,
    `${namespace}:lock:order:${WORDS}-1`,
    `${namespace}:lock:{${WORDS}}`,
    `${namespace}:ratelimit:api:{user:${WORDS}}`,
    `${namespace}:stream~dlq:{${namespace}:stream:${WORDS}}:mail`,
    `user:${WORDS}:cart`,
    `user:${WORDS}:profile`,
    `sess:${WORDS}`,
    // Shared by several keys, as words of the program are.
    ...[1, 2, 3].flatMap((n) => [`visit:${WORDS}@example.com:${n}`, `token:${WORDS}8Q2mZpL7w:${n}`]),
    WORDS,
  ];
}

function examine(connection: PlainConnection, options: ExamineOptions = {}): Promise<DoctorReport> {
  return DoctorService.forConnection(connection, { namespace }).examine({ ...CALM, ...options });
}

/** Findings from counters, which this spec moves, and from ages, which time does. */
const MOVING = /^(CMD|ERR|STR|SLO|LAT)/;

/** Without what differs from run to run. */
function comparable({ findings, ...report }: DoctorReport): string {
  const kept = findings.filter(({ id }) => !MOVING.test(id));
  return JSON.stringify({ ...report, findings: kept, startedAt: '', elapsedMs: 0 });
}

// Servers of its own: on shared ones, what others left behind expires between two looks at the number of keys.
describe.each(['standalone', 'sentinel', 'cluster'] as const)('the doctor as its documented user on %s', (mode) => {
  const own = useOwn(mode, { user: 'doctor' });

  it('asks every master with commands of its list alone, and leaves idle times as they are', async () => {
    const { admin } = own;
    const keys = Array.from({ length: 60 }, (_, n) => `${namespace}:cache:product:${1000 + n}`);
    for (const key of keys) {
      await admin.client.hset(key, 'a', 1);
      const dump = await admin.client.dumpBuffer(key);
      await admin.client.restore(key, 60_000, dump, 'REPLACE', 'IDLETIME', IDLE_SECONDS);
    }
    const before = await admin.commandCounts();
    const report = await examine(own.topology.connection);
    const after = await admin.commandCounts();

    const sent = Object.keys(after).filter((name) => after[name] !== before[name]);
    const allowed = new Set([
      ...ALLOWED_COMMANDS.map((name) => name.toLowerCase().replace(' ', '|')),
      ...OPENING,
      ...OTHERS,
    ]);
    expect(sent.filter((name) => !allowed.has(name))).toEqual([]);
    expect(sent).toEqual(expect.arrayContaining(['scan', 'type', 'pttl', 'memory|usage', 'config|get']));
    const idle = await Promise.all(keys.map((key) => admin.client.object('IDLETIME', key)));
    expect(idle.filter((seconds) => Number(seconds) < IDLE_SECONDS)).toEqual([]);

    expect(report.target.nodes).toHaveLength(mode === 'cluster' ? 3 : 1);
    expect(report.sample).toMatchObject({ keys: report.sample.of, stoppedBy: 'end' });
    expect(report.prefixes.find(({ prefix }) => prefix === `${namespace}:cache:product:*`)).toMatchObject({
      keys: 60,
      noTtl: 0,
    });
    // Nothing was denied to it.
    expect(report.notChecked.filter(({ reason }) => /NOPERM/.test(reason))).toEqual([]);
  });

  it('tells the same of the same state', async () => {
    expect(comparable(await examine(own.topology.connection))).toBe(comparable(await examine(own.topology.connection)));
  });

  it('tells no part of a key, no value and no password, and names only with raw', async () => {
    const { admin } = own;
    const { connection } = own.topology;
    const keys = canaryKeys();
    for (const key of keys.filter((name) => !name.includes('~dlq'))) await admin.client.set(key, `${WORDS} value`);
    await admin.client.xadd(
      keys.find((name) => name.includes('~dlq'))!,
      '*',
      'body',
      WORDS,
    );
    await admin.client.xgroup(
      'CREATE',
      keys.find((name) => name.includes('~dlq'))!,
      `group 7 of ${WORDS}`,
      '0',
    );
    try {
      const options: ExamineOptions = { rules: { STR003: { idle: -1 }, SIZE001: { warn: 0 }, SIZE004: { bytes: 0 } } };
      const report = await examine(connection, options);
      for (const text of [JSON.stringify(report), reportText(report)]) {
        expect(text).not.toContain(WORDS);
        expect(text).not.toContain(connection.password);
      }
      expect(report.findings.map(({ id }) => id)).toEqual(expect.arrayContaining(['TTL002', 'SIZE001', 'STR004']));
      const raw = await examine(connection, { ...options, raw: true });
      expect(JSON.stringify(raw)).toContain(`${namespace}:lock:order:${WORDS}-1`);
      expect(JSON.stringify(raw)).not.toContain(`${WORDS} value`);
    } finally {
      await Promise.all(keys.map((key) => admin.client.del(key)));
    }
  });
});
