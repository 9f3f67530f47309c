import { afterAll, beforeAll, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { escapeGlob } from '../../../libs/redis-patterns/src/keys/index.js';
import { hostileText } from '../../support/hostile-text.js';
import { describeOnEachTopology } from '../../support/topologies.js';
import { openCache, type TestCache } from './test-cache.js';

/** Text of the kind that a literal key may hold, globs and all: only braces have a meaning there. */
const literal = hostileText.filter((text) => text !== '' && !/[{}]|\p{Cs}/u.test(text));
const SPECIAL = [
  'a*c',
  'abc',
  'a?c',
  'a[b]c',
  'a\\bc',
  'a[^b]c',
  'a[',
  '[',
  ']',
  '\\',
  '*',
  '?',
  '**',
  'a:b',
  'ab:',
  '\0',
];
const glob = fc.oneof(
  hostileText.filter((text) => text !== ''),
  fc.constantFrom(
    '*',
    '?',
    '??',
    'a*',
    '*c',
    'a?c',
    'a[b]c',
    'a[^b]c',
    'a[a-c]c',
    'a\\*c',
    'a\\',
    'a[',
    '[a',
    '*]',
    '[^',
    '{*}',
    '~*',
  ),
);

describeOnEachTopology('globs of deletePattern', { user: 'cache' }, (topology) => {
  let opened: TestCache;
  let namespace: string;
  let mine: string[];
  let foreign: string[];

  beforeAll(async () => {
    namespace = await topology.newNamespace();
    opened = await openCache({ connection: topology.connection, namespace }, { operationTimeout: '5s' });
    const texts = [...new Set([...SPECIAL, ...fc.sample(literal, 40)])];
    mine = texts.map((text) => `${namespace}:cache:${text}`);
    const neighbours = [
      'x:cache:',
      ':cachex:',
      ':cach:',
      ':cache~tag:',
      ':cache~index:',
      ':lock:',
      ':',
      '*:cache:',
      '?cache:',
    ];
    foreign = ['abc', ...texts.slice(0, 20)].flatMap((text) => [
      ...neighbours.map((neighbour) => namespace + neighbour + text),
      `x${namespace}:cache:${text}`,
      `${namespace.toUpperCase()}:cache:${text}`,
      `${namespace.slice(0, -1)}:cache:${text}`,
    ]);
    await store(foreign);
  });
  afterAll(async () => {
    await Promise.all([...(foreign ?? []), ...(mine ?? [])].map((key) => topology.admin.client.unlink(key)));
    await opened?.close();
  });

  const store = (keys: readonly string[]) =>
    Promise.all(keys.map((key) => topology.admin.client.set(key, '1', 'PX', 600_000)));
  const present = async (keys: readonly string[]): Promise<string[]> => {
    const found = await Promise.all(keys.map((key) => topology.admin.client.exists(key)));
    return keys.filter((_, index) => found[index] === 1);
  };

  it('delete what the server itself finds by them behind the prefix, and nothing else, whatever they hold', async () => {
    await fc.assert(
      fc.asyncProperty(glob, async (pattern) => {
        await store(mine);
        const matched = await topology.admin.keys(`${namespace}:cache:${pattern}`);
        expect(await opened.cache.deletePattern(pattern, { dryRun: true })).toBe(matched.length);
        expect(await present(mine)).toEqual(mine);
        expect(await opened.cache.deletePattern(pattern)).toBe(matched.length);
        expect(await present(mine)).toEqual(mine.filter((key) => !matched.includes(key)));
        expect(await present(foreign)).toEqual(foreign);
      }),
      { numRuns: 40, endOnFailure: true },
    );
  });

  it('that are escaped delete the one entry of that name', async () => {
    await store(mine);
    for (const [index, key] of mine.entries()) {
      const name = key.slice(`${namespace}:cache:`.length);
      expect(await opened.cache.deletePattern(escapeGlob(name))).toBe(1);
      if (index % 10 === 0) expect(await present(mine)).toEqual(mine.slice(index + 1));
    }
    expect(await present(foreign)).toEqual(foreign);
  });
});
