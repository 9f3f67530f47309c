import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { TokenService } from 'nestjs-redis-patterns';
import { resolveTokenOptions } from '../../../libs/redis-patterns/src/token/token.options.js';
import { startProgram, type Program } from '../../support/child-process.js';
import { openEngine, type OpenEngine } from '../../support/engine.js';
import { eventually } from '../../support/eventually.js';
import { describeOnEachTopology } from '../../support/topologies.js';

// For all topologies: what takes time is to start them.
let programs: Program[] = [];
let rounds = 0;
let suites = 0;
beforeAll(async () => {
  programs = [1, 2].map(() => startProgram(new URL('./programs/consumer.ts', import.meta.url)));
  await Promise.all(programs.map((program) => program.next('ready')));
});
afterAll(async () => {
  await Promise.all(programs.map((program) => program.kill()));
});

describeOnEachTopology('tokens', { user: 'token' }, (topology) => {
  let engine: OpenEngine;
  let tokens: TokenService;
  beforeAll(async () => {
    // What is looked at here is what hundreds of calls at once come to, not how soon.
    engine = await openEngine(topology, { commandTimeout: '5s' });
    tokens = withOptions({});
  });
  afterAll(() => engine?.close());

  const withOptions = (options: object): TokenService =>
    new TokenService(engine.context, resolveTokenOptions(options, 'the spec'));
  const keys = (): Promise<string[]> => topology.admin.keys(`${topology.namespace}:token*`);

  it('are consumed by one of 100 parallel callers in three processes, and by nobody later', async () => {
    suites++;
    const { connection, namespace } = topology;
    for (const program of programs) program.send({ type: 'open', setup: { connection, namespace } });
    await Promise.all(programs.map((program) => program.next('opened', { count: suites })));
    for (let n = 0; n < 3; n++) {
      const round = ++rounds;
      const token = await tokens.issue('reset', { round });
      for (const program of programs) program.send({ type: 'consume', token, times: 33 });
      const own = await Promise.all(Array.from({ length: 34 }, () => tokens.consume('reset', token)));
      const others = await Promise.all(programs.map((program) => program.next('consumed', { count: round })));
      const winners = [...own.filter(Boolean), ...others.flatMap(({ payloads }) => payloads as unknown[])];
      expect(winners).toEqual([{ round }]);
      expect([await tokens.verify('reset', token), await tokens.consume('reset', token)]).toEqual([
        undefined,
        undefined,
      ]);
    }
  });

  it('are valid for their purpose alone, until they are used, revoked or too old', async () => {
    const payload = { at: new Date(0), nothing: null };
    const [token, revoked, short] = await Promise.all([
      tokens.issue('invite', payload),
      tokens.issue('invite', payload),
      tokens.issue('invite', 0, { ttl: 40 }),
    ]);
    expect(await tokens.verify('invite', token)).toEqual(payload);
    for (const purpose of ['reset', 'invite:x', '{invite}']) {
      expect([await tokens.verify(purpose, token), await tokens.consume(purpose, token)]).toEqual([
        undefined,
        undefined,
      ]);
      expect(await tokens.revoke(purpose, token)).toBe(false);
    }
    expect([await tokens.revoke('invite', revoked), await tokens.revoke('invite', revoked)]).toEqual([true, false]);
    expect(await tokens.consume('invite', revoked)).toBeUndefined();
    await eventually(async () => expect(await tokens.consume('invite', short)).toBeUndefined());
    expect(await tokens.consume('invite', token)).toEqual(payload);
    for (const stranger of ['', 'x', `${token}x`, undefined as unknown as string]) {
      expect([await tokens.verify('invite', stranger), await tokens.consume('invite', stranger)]).toEqual([
        undefined,
        undefined,
      ]);
    }
  });

  it('of a principal are revoked together, more than one script takes, and not those of others', async () => {
    const many = withOptions({ maxPerPrincipal: 1000 });
    const issued = await Promise.all(Array.from({ length: 620 }, (_, n) => many.issue('mail', n, { principal: 7 })));
    const other = await many.issue('mail', 'other', { principal: 8 });
    const elsewhere = await many.issue('sms', 'elsewhere', { principal: 7 });
    expect(await tokens.revokeAll('mail', '7')).toBe(620);
    expect(await tokens.revokeAll('mail', 7n)).toBe(0);
    const found = await Promise.all(issued.map((token) => tokens.verify('mail', token)));
    expect(found.filter((payload) => payload !== undefined)).toEqual([]);
    expect(await tokens.verify('mail', other)).toBe('other');
    expect(await tokens.verify('sms', elsewhere)).toBe('elsewhere');
  });

  it('of a principal are no more than may live at a time', async () => {
    const few = withOptions({ maxPerPrincipal: 2 });
    const issued: string[] = [];
    for (const ttl of ['1m', '2m', '3m', '4m'] as const)
      issued.push(await few.issue('few', ttl, { principal: 'p', ttl }));
    const found = await Promise.all(issued.map((token) => few.verify('few', token)));
    expect(found).toEqual([undefined, undefined, '3m', '4m']);
    // The new one ends first, and is the one that somebody has just been given.
    const brief = await few.issue('few', 'brief', { principal: 'p', ttl: '30s' });
    const left = await Promise.all([...issued.slice(2), brief].map((token) => few.verify('few', token)));
    expect(left).toEqual([undefined, '4m', 'brief']);
  });

  it('are in Redis as digests alone, and no key is without an end', async () => {
    const issued = await Promise.all(
      Array.from({ length: 20 }, () => tokens.issue('secret', { a: 1 }, { principal: 'p' })),
    );
    await tokens.consume('secret', issued[0]!);
    expect(new Set(issued).size).toBe(20);
    for (const token of issued) expect(token).toMatch(/^[\w-]{43}$/);
    const names = await keys();
    const { client } = topology.admin;
    const values = await Promise.all(
      names.map(async (name) =>
        (await client.type(name)) === 'zset' ? client.zrange(name, '0', '-1') : client.hgetall(name),
      ),
    );
    const content = JSON.stringify([names, values]);
    for (const token of issued) expect(content).not.toContain(token);
    const ends = await Promise.all(names.map((name) => client.pttl(name)));
    expect(ends.filter((ms) => ms === -1)).toEqual([]);
  });

  it('refuse what cannot be kept', async () => {
    const invalid = { code: 'ERR_INVALID_OPTIONS' };
    await expect(tokens.issue('', 1)).rejects.toMatchObject(invalid);
    await expect(tokens.issue('x', undefined)).rejects.toMatchObject(invalid);
    await expect(tokens.issue('x', 'y'.repeat(70_000))).rejects.toMatchObject(invalid);
    await expect(tokens.issue('x', 1, { ttl: 0 })).rejects.toMatchObject(invalid);
    await expect(tokens.revokeAll('x', '')).rejects.toMatchObject(invalid);
    await expect(tokens.issue('x', () => 1)).rejects.toMatchObject({ code: 'ERR_CODEC' });
  });
});
