import { WORKLOADS, type Workload } from '../doctor.report.js';
import type { PrefixFacts, SampledKey } from '../snapshot.js';
import { ownWorkload, STRANGERS } from './own-patterns.js';
import { PrefixTree } from './prefix-tree.js';
import { partsOf } from './words.js';

/** What must not be lost, nor evicted. */
export const DURABLE: ReadonlySet<Workload> = new Set(
  WORKLOADS.filter((workload) => workload !== 'cache' && workload !== 'other'),
);

export interface GroupingOptions {
  readonly namespace: string | undefined;
  /** Classes by the beginning of a key. */
  readonly classify: Readonly<Record<string, Workload>>;
  /** Decorated methods by the beginning of a key. */
  readonly owners: ReadonlyMap<string, string>;
}

export interface Grouping {
  readonly prefixes: readonly PrefixFacts[];
  prefixOf(key: SampledKey): string;
}

/** A prefix is called a cache when more than this share of its keys have a TTL. */
const CACHE_LIKE = 0.9;
const FEWEST_FOR_GUESS = 10;

/** Puts keys together that begin alike, biggest group first. */
export function groupKeys(keys: readonly SampledKey[], options: GroupingOptions): Grouping {
  const tree = new PrefixTree(
    keys.map(({ name }) => name),
    options.namespace,
  );
  const prefixOf = ({ name }: SampledKey): string => tree.prefixOf(name);
  const groups = new Map<string, SampledKey[]>();
  for (const key of keys) {
    // Keys of different use may have nothing to tell in common.
    const group = `${prefixOf(key)} ${knownClass(key, options)?.class ?? ''}`;
    const members = groups.get(group);
    if (members === undefined) groups.set(group, [key]);
    else members.push(key);
  }
  const prefixes = [...groups.values()].map((members) => describe(members, prefixOf(members[0]!), options));
  const order = (one: PrefixFacts, other: PrefixFacts): number =>
    other.members.length - one.members.length || (one.prefix < other.prefix ? -1 : 1);
  return { prefixes: prefixes.toSorted(order), prefixOf };
}

function describe(members: readonly SampledKey[], prefix: string, options: GroupingOptions): PrefixFacts {
  const owner = ownerOf(members[0]!.name, options.owners);
  const common = { prefix, members, ...(owner === undefined ? {} : { owner }) };
  const given = knownClass(members[0]!, options);
  return { ...common, ...(given ?? { class: guessByTtl(members), by: 'ttl' as const }) };
}

function knownClass(
  { name, type }: SampledKey,
  { classify }: GroupingOptions,
): Pick<PrefixFacts, 'class' | 'by'> | undefined {
  const given = Object.keys(classify)
    .filter((beginning) => name.startsWith(beginning.replace(/\*$/, '')))
    .toSorted((one, other) => other.length - one.length)[0];
  if (given !== undefined) return { class: classify[given]!, by: 'given' };
  const parts = partsOf(name);
  const own = ownWorkload(parts);
  if (own !== undefined) return { class: own, by: 'pattern' };
  const [first = ''] = parts;
  if (parts.length > 1 && Object.hasOwn(STRANGERS, first)) return { class: STRANGERS[first]!, by: 'name' };
  return type === 'stream' ? { class: 'stream', by: 'type' } : undefined;
}

function guessByTtl(members: readonly SampledKey[]): Workload {
  const known = members.filter(({ ttl }) => ttl !== undefined);
  if (known.length < FEWEST_FOR_GUESS) return 'other';
  return known.filter(({ ttl }) => ttl! >= 0).length > known.length * CACHE_LIKE ? 'cache' : 'other';
}

function ownerOf(name: string, owners: ReadonlyMap<string, string>): string | undefined {
  const plain = partsOf(name).join(':');
  for (const [beginning, owner] of owners) if (plain === beginning || plain.startsWith(`${beginning}:`)) return owner;
  return undefined;
}
