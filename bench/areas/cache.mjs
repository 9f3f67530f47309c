// Hits in Redis with and without tags, hits in memory, loads and invalidations: 1 KiB, distinct keys, the same payload for all, beside
// GET + JSON.parse and GET + SET, and beside the peers that are installed.
import { hitCost, loads, oursHit, peerHit, rawHit, tagNames } from '../lib/cache/hits.mjs';
import { invalidations, oursGroup, peerGroup, rawGroup } from '../lib/cache/invalidation.mjs';
import { large, oursInMemory, peerInMemory, rawHitOf } from '../lib/cache/memory.mjs';
import { openOurs } from '../lib/cache/ours.mjs';
import { bento, cacheable, cacheManager, clientSideCaching, handWritten } from '../lib/cache/peers.mjs';
import { commandCounter } from '../lib/commands.mjs';
import { openRaw } from '../lib/context.mjs';
import { measureScenario } from '../lib/measure.mjs';

const COUNTS = [1, 10_000, 100_000];
const QUICK_COUNTS = [1, 10_000];
const MEMORY = { ttl: '10m' };

/** @template T @param {(T | undefined)[]} opened @returns {T[]} */
const installed = (opened) => /** @type {T[]} */ (opened.filter((one) => one !== undefined));

export async function cache(url) {
  const raw = openRaw(url);
  const ours = await openOurs(url, 'cache');
  const clone = await openOurs(url, 'clone', { l1: MEMORY });
  const freeze = await openOurs(url, 'freeze', { l1: { ...MEMORY, isolation: 'freeze' } });
  const { service } = ours;

  const plain = installed([handWritten(url), await cacheManager(url), await bento(url), await cacheable(url)]);
  const tagged = installed([await bento(url), await cacheable(url, { tags: true })]);
  const memory = [
    { peer: await clientSideCaching(url), name: 'node-redis csc' },
    { peer: await cacheable(url, { l1: {} }), name: 'cacheable clone' },
    { peer: await cacheable(url, { l1: { useClone: false } }), name: 'cacheable shared' },
    { peer: await bento(url, { l1: {} }), name: 'bentocache clone' },
    { peer: await bento(url, { l1: { serialize: false } }), name: 'bentocache shared' },
  ].filter(({ peer }) => peer !== undefined);

  const hits = (tags) => [
    rawHit(raw),
    oursHit(service, tags),
    ...(tags ? tagged : plain).map((one) => peerHit(one, tags)),
  ];
  const memoryArms = (value) => [
    rawHitOf(raw, value),
    oursInMemory(clone.service, 'ours clone', value),
    oursInMemory(freeze.service, 'ours freeze', value),
    ...memory.map(({ peer, name }) => peerInMemory(peer, name, value)),
  ];
  const lone = (name, arms) => ({
    name,
    measure: (plan) => measureScenario('cache', { name, arms }, { ...plan, callers: [1] }, commandCounter(raw)),
  });
  const groups = [rawGroup(raw), oursGroup(service), ...tagged.map(peerGroup)];
  const costs = [rawHit(raw), oursHit(service), oursHit(service, tagNames(3), 'ours 3 tags')];
  const scenarios = [
    { name: 'hit', arms: hits() },
    { name: 'hit 3 tags', arms: hits(tagNames(3)) },
    { name: 'hit 10 tags', arms: hits(tagNames(10)) },
    { name: 'load', arms: loads(raw, service, plain) },
    // Nothing waits here, so that more callers tell nothing more.
    lone('memory 1 KiB', memoryArms()),
    lone('memory 16 KiB', memoryArms(large)),
    { name: 'hit cost', measure: ({ rounds }) => hitCost(costs, [1, 64], rounds * 6) },
    { name: 'invalidate', measure: ({ quick }) => invalidations(groups, quick ? QUICK_COUNTS : COUNTS) },
  ];
  const close = async () => {
    const peers = [...plain, ...tagged, ...memory.map(({ peer }) => peer)];
    await Promise.all([...peers, ours, clone, freeze].map((one) => one?.close()));
    raw.disconnect();
  };
  return { scenarios, close };
}
