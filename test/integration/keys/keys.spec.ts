import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { escapeGlob, KeyBuilder, slotOf } from '../../../libs/redis-patterns/src/keys/index.js';
import { hostileText, keyParts } from '../../support/hostile-text.js';
import { describeOn, describeOnEachTopology } from '../../support/topologies.js';

describeOnEachTopology('keys of hostile parts', (topology) => {
  const keys = new KeyBuilder(topology.namespace);

  it('are one key each, which comes back from the server as it was sent', async () => {
    const parts = fc.sample(keyParts, 300);
    const names = new Set(parts.map((part) => keys.main('hostile', part)));
    await Promise.all([...names].map((name) => topology.admin.client.set(name, name, 'PX', 60_000)));
    expect(await topology.admin.keys(`${keys.prefix('hostile')}*`)).toEqual([...names].toSorted());
    await Promise.all([...names].map(async (name) => expect(await topology.admin.client.get(name)).toBe(name)));
  });

  it('share one command with their companions', async () => {
    await fc.assert(
      fc.asyncProperty(keyParts, hostileText, async (parts, extra) => {
        const untagged = keys.main('pair', parts);
        const tagged = keys.tagged('limit', 'api', extra);
        const family = keys.family('unique', extra, ...parts);
        for (const main of [untagged, tagged, family]) {
          const companion = keys.companion('pair', 'role', main, extra);
          await topology.admin.client.mset(main, 'main', companion, 'companion');
          expect(await topology.admin.client.mget(main, companion)).toEqual(['main', 'companion']);
          expect(await topology.admin.client.del(main, companion)).toBe(2);
        }
      }),
      { numRuns: 100 },
    );
  });

  it('are matched by no glob but their own', async () => {
    // Raw text in the key, as a literal may have: only escaping the glob keeps it from matching its neighbours.
    const texts = fc.sample(hostileText, 150).filter((text) => !/\p{Cs}/u.test(text));
    const names = [
      ...new Set([...texts, 'a*c', 'abc', 'a?c', 'a[b]c', 'a\\bc', 'a[^b]c'].map((text) => keys.prefix('glob') + text)),
    ];
    await Promise.all(names.map((name) => topology.admin.client.set(name, '1', 'PX', 60_000)));
    for (const name of names) expect(await topology.admin.keys(escapeGlob(name))).toEqual([name]);
    expect(await topology.admin.keys(`${escapeGlob(`${keys.prefix('glob')}a[b`)}*`)).toContain(
      `${keys.prefix('glob')}a[b]c`,
    );
  });
});

describeOn('cluster', 'slotOf', (topology) => {
  it('equals CLUSTER KEYSLOT for keys of every kind', async () => {
    const server = topology.admin.masters()[0]!;
    const keys = new KeyBuilder('shop');
    const built = fc.sample(fc.tuple(keyParts, hostileText), 300).flatMap(([parts, extra]) => {
      const main = keys.main('stream', parts);
      return [main, keys.companion('stream', 'retry', main, extra), keys.tagged('ratelimit', 'api', extra)];
    });
    const raw = [
      ...fc.sample(hostileText, 1_500),
      '',
      '{}',
      '{}{a}',
      'a{}b}',
      '{a',
      '}a{',
      '{{a}}',
      'a{b}c{d}',
      '{ключ}',
    ];
    const names = [...built, ...raw];
    const slots = await Promise.all(names.map((name) => server.cluster('KEYSLOT', name)));
    expect(names.map((name) => slotOf(name))).toEqual(slots);
  });

  it('finds the node that holds a key, so that a stable Cluster never redirects', async () => {
    const keys = new KeyBuilder(topology.namespace);
    const owners = (await topology.admin.masters()[0]!.cluster('SLOTS')) as unknown as [
      number,
      number,
      [string, number],
    ][];
    const masters = new Map(topology.admin.masters().map((master) => [master.options.port, master]));
    for (const parts of fc.sample(keyParts, 100)) {
      const key = keys.main('moved', parts);
      const [, , [, port]] = owners.find(([from, to]) => slotOf(key) >= from && slotOf(key) <= to)!;
      expect(await masters.get(port)!.set(key, '1', 'PX', 60_000)).toBe('OK');
    }
  });
});
