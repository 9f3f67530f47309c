import { describe, expect, it } from '@jest/globals';
import { Info } from '../collect/info.js';
import { parseClients, parseHistogram, parseSlowlog } from '../collect/parse.js';
import { resolveDoctorOptions } from '../doctor.options.js';
import { judge } from '../judge.js';
import type { NodeFacts, PrefixFacts, SampledKey, Snapshot } from '../snapshot.js';
import { DOCTOR_RULES } from './index.js';
import { versionFault } from './versions.js';

const HEALTHY_INFO = `redis_version:8.2.9\r\nmaxmemory:1000000\r\nmaxmemory_policy:noeviction\r\nused_memory:1000\r\nuptime_in_seconds:9999\r\nmaxclients:100\r\nconnected_clients:1`;

function node(info: string, facts: Partial<NodeFacts> = {}): NodeFacts {
  const parsed = { value: Info.parse(`${HEALTHY_INFO}\r\n${info}`) };
  return {
    node: '10.0.0.1:6379',
    info: parsed,
    counters: parsed,
    windowMs: undefined,
    config: { value: new Map([['save', '3600 1']]) },
    clients: { value: [] },
    slowlog: { value: [] },
    events: { value: new Map() },
    latencies: { value: new Map() },
    user: { value: 'doctor' },
    open: { value: false },
    ...facts,
  };
}

function snapshot(facts: Partial<Snapshot> = {}): Snapshot {
  const sample = { keys: 10, of: 10, stoppedBy: 'end', margin: 0, gap: undefined, denied: new Map() } as const;
  return {
    nodes: [node('')],
    prefixes: [],
    sample,
    streams: { value: [] },
    quorum: undefined,
    plainText: undefined,
    windowMs: 0,
    application: undefined,
    ...facts,
  };
}

function found(facts: Partial<Snapshot>, options: object = {}): string[] {
  const { findings } = judge(snapshot(facts), resolveDoctorOptions(options, 'the spec'));
  return findings.map(({ id, severity, scope }) => [id, severity, scope.subject].filter(Boolean).join(' '));
}

function locks(keys: Partial<SampledKey>[] = [{}]): PrefixFacts {
  const members = keys.map((key, n) => ({
    name: `shop:lock:${n}`,
    type: 'string',
    ttl: 1,
    bytes: 1,
    length: 9,
    node: '',
    db: 0,
    ...key,
  }));
  return { prefix: 'shop:lock:*', class: 'lock', by: 'pattern', members };
}

describe('rules', () => {
  it('find nothing in a healthy snapshot', () => {
    expect(found({})).toEqual([]);
  });

  it('judge as many keys as may be asked for', () => {
    const many = locks(Array.from({ length: 300_000 }, (_, n) => ({ ttl: n + 1, bytes: 2 * 1024 * 1024 })));
    expect(found({ prefixes: [{ ...many, class: 'cache' }] })).toEqual(['SIZE001 error', 'EVI002 warn']);
  });

  it.each<[string, Partial<Snapshot>, string[]]>([
    ['another host without TLS', { plainText: 'yes' }, ['SEC003 warn']],
    [
      'an open server of another host',
      { nodes: [node('', { open: { value: true }, config: { reason: 'NOPERM' } })] },
      ['SEC001 critical'],
    ],
    [
      'a replica that is late',
      { nodes: [node('master_repl_offset:9000000\r\nslave0:ip=x,port=1,state=online,offset=1,lag=0')] },
      ['REP001 error'],
    ],
    ['a replica that is silent', { nodes: [node('slave0:ip=x,port=1,state=online,offset=0,lag=9')] }, ['REP001 error']],
    ['no replica of durable data', { prefixes: [locks()] }, ['REP001 warn']],
    [
      'a stale snapshot',
      {
        nodes: [node('rdb_changes_since_last_save:20000\r\nserver_time_usec:9000000000000\r\nrdb_last_save_time:1000')],
      },
      ['PER003 warn'],
    ],
    [
      'a failing append-only file',
      { nodes: [node('aof_last_write_status:err')] },
      ['PER002 critical aof_last_write_status'],
    ],
    [
      'swapped memory',
      { nodes: [node('maxmemory:9000000000\r\nused_memory:2000000000\r\nmem_fragmentation_ratio:0.7')] },
      ['MEM001 error'],
    ],
    ['a full memory', { nodes: [node('used_memory:990000')] }, ['EVI007 error']],
    [
      'redirects',
      { nodes: [node('total_commands_processed:1000\r\nerrorstat_MOVED:count=11')] },
      ['ERR001 warn MOVED'],
    ],
    [
      'scripts that are not known yet',
      {
        nodes: [
          node(
            'cmdstat_evalsha:calls=200,usec=1,usec_per_call=1,rejected_calls=0,failed_calls=9\r\nerrorstat_NOSCRIPT:count=9',
          ),
        ],
      },
      [],
    ],
    ['churn', { nodes: [node('total_connections_received:999900')] }, ['CON002 warn']],
    ['no quorum', { quorum: { value: { ok: false, usable: 1, text: 'NOQUORUM' } } }, ['REP003 error']],
    [
      'an open breaker',
      {
        application: {
          connections: [{ name: 'a', waiting: 2, inFlight: 0, openNodes: ['x:1'] }],
          clients: [],
          holds: undefined,
        },
      },
      ['CON009 error', 'CON009 warn'],
    ],
    [
      'locks that are held for long, beside others that are not',
      {
        application: {
          connections: [],
          clients: [],
          holds: [
            { kind: 'lock', name: 'usual', heldMs: 2000, maxHoldMs: 60_000, usualMs: 1900 },
            { kind: 'lock', name: 'short', heldMs: 900, maxHoldMs: 1000, usualMs: 1 },
            { kind: 'lock', name: 'unusual', heldMs: 2000, maxHoldMs: 60_000, usualMs: 199 },
            { kind: 'semaphore', name: 'nearly over', heldMs: 56_000, maxHoldMs: 60_000, usualMs: undefined },
          ],
        },
      },
      ['LCK001 info', 'LCK001 info'],
    ],
    [
      'an unlocked lock',
      {
        prefixes: [locks([{ ttl: -1 }])],
        nodes: [
          node('slave0:ip=x,port=1,state=online,offset=0,lag=0', {
            config: { value: new Map([['min-replicas-to-write', '1']]) },
          }),
        ],
      },
      ['TTL002 critical'],
    ],
  ])('find %s', (_title, facts, expected) => {
    expect(found(facts)).toEqual(expected);
  });

  it('are "not checked" where something was refused, and others are still checked', () => {
    const reason = 'NOPERM: the user may not run CONFIG GET';
    const facts = { nodes: [node('maxmemory:0', { config: { reason } })] };
    const { findings, notChecked, passed } = judge(snapshot(facts), resolveDoctorOptions({}, 'the spec'));
    expect(findings.map(({ id }) => id)).toEqual(['EVI001']);
    expect(notChecked).toContainEqual({ rule: 'CON006', reason });
    expect(passed).not.toContain('CON006');
  });

  it('count in the window what has changed, and from zero after a restart', () => {
    const before = Info.parse('run_id:a\ncmdstat_keys:calls=5,usec=1,usec_per_call=1\nexpired_keys:3');
    const after = Info.parse('run_id:a\ncmdstat_keys:calls=7,usec=1,usec_per_call=1\nexpired_keys:4');
    expect([after.since(before).calls('keys'), after.since(before).number('expired_keys')]).toEqual([2, 1]);
    expect(Info.parse('run_id:b\ncmdstat_keys:calls=1').since(before).calls('keys')).toBe(1);
  });

  it('have ids and names of their own, and limits that their text names', () => {
    expect(new Set(DOCTOR_RULES.map(({ id }) => id)).size).toBe(DOCTOR_RULES.length);
    for (const { id, name, when, limits, why, advice } of DOCTOR_RULES) {
      expect(id).toMatch(/^[A-Z]+\d{3}$/);
      expect([name, why, advice].every((text) => text.length > 2)).toBe(true);
      const named = [...when.matchAll(/\{(\w+)\}/g)].map(([, limit]) => limit!);
      expect({ id, unknown: named.filter((limit) => !Object.hasOwn(limits, limit)) }).toEqual({ id, unknown: [] });
    }
  });
});

describe('the baseline', () => {
  const accept = (entry: object) => {
    const options = { baseline: { accepted: [{ why: 'known', ...entry }] } };
    return judge(snapshot({ nodes: [node('maxmemory:0')] }), resolveDoctorOptions(options, 'the spec'), '2026-06-01');
  };

  it('takes a finding out of the verdict until its day has passed', () => {
    expect(accept({ rule: 'EVI001' })).toMatchObject({
      failed: false,
      worst: null,
      findings: [{ accepted: { why: 'known' } }],
    });
    expect(accept({ rule: 'EVI001', until: '2026-06-01' })).toMatchObject({ failed: false });
    expect(accept({ rule: 'EVI001', until: '2026-05-31' })).toMatchObject({
      failed: true,
      findings: [{ lapsed: '2026-05-31' }],
    });
    expect(accept({ rule: 'EVI001', scope: { node: 'elsewhere:1' } })).toMatchObject({ failed: true, worst: 'error' });
  });
});

describe('versions', () => {
  it.each([
    ['redis', '7.0.15', 'warn'],
    ['redis', '8.0.4', 'warn'],
    ['redis', '7.2.15', 'error'],
    ['redis', '7.2.16', undefined],
    ['redis', '8.10.1', undefined],
    ['redis', '9.0.0', undefined],
    ['valkey', '8.1.11', 'error'],
    ['valkey', '9.1.4', undefined],
    ['valkey', '9.2.0', undefined],
  ] as const)('%s %s: %s', (flavour, version, severity) => {
    expect(versionFault(flavour, version)?.severity).toBe(severity);
  });
});

describe('replies', () => {
  it('are read without arguments', () => {
    const entry = (args: string[], name = 'app') => [
      1,
      0,
      20_000,
      args.map((arg) => Buffer.from(arg)),
      Buffer.from('x'),
      Buffer.from(name),
    ];
    const slow = parseSlowlog(
      [entry(['SET', 'a', 'secret']), entry(['CONFIG', 'SET', 'requirepass', 'secret']), entry(['X'], 'own')],
      'own',
    );
    expect(slow).toEqual([
      { command: 'set', ms: 20, key: 'a' },
      { command: 'config set', ms: 20, key: undefined },
    ]);
    expect(parseClients('id=1 addr=10.0.0.1:5 name=a:b:command:1 flags=b omem=5 qbuf=6 tot-mem=7 cmd=blpop\n')).toEqual(
      [
        {
          name: 'a:b:command:1',
          host: '10.0.0.1',
          flags: 'b',
          command: 'blpop',
          outputBytes: 5,
          queryBytes: 6,
          totalBytes: 7,
        },
      ],
    );
    const histogram = ['get', ['calls', 100, 'histogram_usec', [1, 50, 2, 98, 16_384, 100]]];
    expect(parseHistogram(histogram)).toEqual(new Map([['get', { p99: 16.384, calls: 100 }]]));
  });
});
