import { beforeAll, describe, expect, it } from '@jest/globals';
import { DoctorService, type DoctorReport } from 'nestjs-redis-patterns';
import { useOwn } from '../../support/topologies.js';
import { CALM } from './healthy-server.js';

/** A right of the documented user, how the report calls it, and rules that cannot be judged without it. */
const RIGHTS: readonly (readonly [right: string, command: string, rules: readonly string[]])[] = [
  ['info', 'INFO', ['TTL006', 'CMD001', 'ERR001', 'EVI001', 'EVI003', 'MIX001', 'PER001', 'REP001', 'REP002']],
  ['info', 'INFO', ['CON001', 'CON004', 'HOT001', 'MEM001', 'SEC004', 'SLO001']],
  ['config|get', 'CONFIG GET', ['PER001', 'CON006']],
  ['client|list', 'CLIENT LIST', ['CMD007', 'CON001', 'CON003', 'CON005', 'CON008']],
  ['slowlog|get', 'SLOWLOG GET', ['CMD004']],
  ['latency|latest', 'LATENCY LATEST', ['LAT001']],
  ['latency|histogram', 'LATENCY HISTOGRAM', ['LAT001']],
  ['acl|whoami', 'ACL WHOAMI', ['SEC002']],
  ['scan', 'SCAN', ['TTL001', 'TTL002', 'SIZE001', 'EVI003', 'MIX001', 'PER001', 'STR001', 'STR004', 'HOT001']],
  ['ping', 'PING', ['TTL002', 'SIZE001', 'EVI003', 'STR001']],
  ['type', 'TYPE', ['SIZE001', 'SIZE002', 'SIZE005', 'EVI003', 'STR001', 'STR003', 'STR004', 'STR005']],
  ['pttl', 'PTTL', ['TTL002', 'TTL003', 'TTL004', 'TTL005', 'SLO001']],
  ['memory|usage', 'MEMORY USAGE', ['SIZE001', 'SIZE002']],
  ['object|freq', 'OBJECT FREQ', ['HOT001']],
  ['xinfo|stream', 'XINFO', ['SIZE005', 'STR001', 'STR003', 'STR005']],
  ['xinfo|groups', 'XINFO', ['STR001', 'STR003', 'STR005']],
  ['xinfo|consumers', 'XINFO', ['STR001', 'STR003', 'STR005']],
  ['xpending', 'XPENDING', ['STR001']],
];

describe('the doctor of a user who lacks one right', () => {
  const own = useOwn('standalone', { user: 'doctor', config: { 'maxmemory-policy': 'allkeys-lfu' } });
  const options = { ...CALM, skip: [] };
  let whole: DoctorReport;

  const examine = (): Promise<DoctorReport> => DoctorService.forConnection(own.topology.connection).examine(options);
  const change = async (rule: string): Promise<void> => {
    const { username } = own.topology.connection as { username: string };
    await own.admin.client.call('ACL', 'SETUSER', username, rule);
  };

  beforeAll(async () => {
    const { client } = own.admin;
    // Without names that say what they are: the cache is known by its TTLs, the stream by its type.
    for (let n = 0; n < 30; n++) await client.set(`product:${n + 1000}`, 'x', 'EX', 600 + n * 20);
    await client.xadd('events', '*', 'data', '1');
    await client.xgroup('CREATE', 'events', 'billing', '0');
    await client.xreadgroup('GROUP', 'billing', 'one', 'STREAMS', 'events', '>');
    await client.mget(Array.from({ length: 10_000 }, (_, n) => `product:none:${n}`));
    whole = await examine();
  });

  it.each(RIGHTS)(
    'calls without %s what needs %s "not checked", and judges the rest',
    async (right, command, rules) => {
      await change(`-${right}`);
      const [result] = await Promise.allSettled([examine()]);
      await change(`+${right}`);
      if (result.status === 'rejected') throw result.reason;
      const report = result.value;

      for (const rule of rules) {
        const reasons = report.notChecked.filter((each) => each.rule === rule).map(({ reason }) => reason);
        expect({ rule, reasons }).toEqual({ rule, reasons: [expect.stringContaining('NOPERM: the user may not run')] });
        expect(reasons[0]).toContain(command);
      }
      // Nothing that was not passed or found with all rights is called good without one.
      expect(report.passed.filter((rule) => !whole.passed.includes(rule))).toEqual([]);
      expect(report.passed.filter((rule) => rules.includes(rule))).toEqual([]);
      expect(report.passed.length).toBeGreaterThan(10);
    },
  );

  it('is whole again with all of them', async () => {
    const report = await examine();
    expect(report.notChecked).toEqual(whole.notChecked);
    expect(report.notChecked.filter(({ reason }) => reason.includes('NOPERM'))).toEqual([]);
    expect(report.findings.map(({ id }) => id)).toEqual(expect.arrayContaining(['EVI003', 'MIX001', 'SLO001']));
  });
});
