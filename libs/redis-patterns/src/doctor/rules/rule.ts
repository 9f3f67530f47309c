import type { FindingScope, Severity } from '../doctor.report.js';
import { DURABLE } from '../prefixes/group-keys.js';
import {
  known,
  Unknown,
  type KeyQuestion,
  type NodeFacts,
  type PrefixFacts,
  type SampledKey,
  type Snapshot,
  type StreamFacts,
} from '../snapshot.js';

/** What a rule found: the part of a finding that is its own. */
export interface Found {
  readonly severity: Severity;
  readonly scope: FindingScope;
  readonly measured: number | string;
  readonly threshold: number | string;
  readonly evidence: string;
  readonly commands?: readonly string[];
  /** Examples, for `raw`. */
  readonly keys?: readonly string[];
}

/** Something that a rule could not see. */
export interface Unchecked {
  readonly reason: string;
}

export type Outcome = Found | Unchecked;
export type Limits = Readonly<Record<string, number>>;

/** A rule of the catalogue. Ids, severities and names of limits stay. */
export interface Rule<L extends Limits = Limits> {
  readonly id: string;
  readonly name: string;
  /** Severities that it may give. */
  readonly severities: readonly Severity[];
  /** Where the measure comes from. */
  readonly measured: string;
  /** When there is a finding; `{limit}` stands for a limit. */
  readonly when: string;
  readonly why: string;
  readonly advice: string;
  /** Thresholds; each can be changed. */
  readonly limits: L;
  readonly check: (snapshot: Snapshot, limits: L) => Iterable<Outcome>;
}

/** Keeps the names of the limits while a rule is written; the catalogue forgets them. */
export function defineRule<L extends Limits>(rule: Rule<L>): Rule {
  return rule as unknown as Rule;
}

/** Checks each server; one that did not answer what is needed is "not checked", and the others are. */
export function* eachNode(snapshot: Snapshot, check: (node: NodeFacts) => Iterable<Outcome>): Generator<Outcome> {
  for (const node of snapshot.nodes) {
    const outcomes: Outcome[] = [];
    let reason: string | undefined;
    try {
      for (const outcome of check(node)) outcomes.push(outcome);
    } catch (error) {
      if (!(error instanceof Unknown)) throw error;
      reason = error.message;
    }
    yield* outcomes;
    if (reason !== undefined) yield { reason };
  }
}

/** Checks each prefix of the sample, if its keys could be asked what the rule needs. */
export function* eachPrefix(
  { prefixes, sample }: Snapshot,
  needs: readonly KeyQuestion[],
  check: (prefix: PrefixFacts) => Iterable<Outcome>,
): Generator<Outcome> {
  for (const question of needs) {
    const reason = sample.denied.get(question);
    if (reason === undefined) continue;
    yield { reason };
    return;
  }
  for (const prefix of prefixes) yield* check(prefix);
  if (sample.gap !== undefined) yield { reason: sample.gap };
}

/** Checks each stream of the sample. */
export function* eachStream(
  { streams, sample }: Snapshot,
  check: (stream: StreamFacts) => Iterable<Outcome>,
): Generator<Outcome> {
  for (const stream of known(streams)) yield* check(stream);
  if (sample.gap !== undefined) yield { reason: sample.gap };
}

export function scopeOf({ prefix, owner }: PrefixFacts): FindingScope {
  return { prefix, ...(owner === undefined ? {} : { owner }) };
}

/** Prefixes of these classes; what is guessed from TTLs alone counts only where it is asked for. */
export function prefixesOf(snapshot: Snapshot, kind: 'durable' | 'cache', { guessed = true } = {}): PrefixFacts[] {
  return snapshot.prefixes.filter(
    (prefix) =>
      (kind === 'cache' ? prefix.class === 'cache' : DURABLE.has(prefix.class)) && (guessed || prefix.by !== 'ttl'),
  );
}

/**
 * Whether there is durable data; streams are known by their type.
 *
 * @throws Unknown when none was seen, but not everything was looked at
 */
export function durablePrefixes(snapshot: Snapshot): PrefixFacts[] {
  return foundOrUnknown(prefixesOf(snapshot, 'durable'), snapshot, 'type');
}

/**
 * Whether there are caches; those that nobody has declared are known by their TTLs.
 *
 * @throws Unknown as {@link durablePrefixes}
 */
export function cachePrefixes(snapshot: Snapshot): PrefixFacts[] {
  return foundOrUnknown(prefixesOf(snapshot, 'cache'), snapshot, 'pttl');
}

function foundOrUnknown(found: PrefixFacts[], { sample }: Snapshot, question: KeyQuestion): PrefixFacts[] {
  const reason = sample.gap ?? sample.denied.get(question);
  if (found.length === 0 && reason !== undefined) throw new Unknown(reason);
  return found;
}

/** Up to three prefixes, as a text. */
export function namesOf(prefixes: readonly PrefixFacts[]): string {
  const names = [...new Set(prefixes.map(({ prefix, class: workload }) => `${prefix} (${workload})`))];
  return names.length > 3 ? `${names.slice(0, 3).join(', ')} and ${names.length - 3} more` : names.join(', ');
}

/** Names of the worst keys, for `raw`. */
export function examples(keys: readonly SampledKey[], by: (key: SampledKey) => number = () => 0): string[] {
  return keys
    .toSorted((one, other) => by(other) - by(one))
    .slice(0, 5)
    .map(({ name }) => name);
}

export function policyOf(node: NodeFacts): string {
  const policy = known(node.info).text('maxmemory_policy');
  if (policy === undefined) throw new Unknown('INFO does not tell maxmemory_policy');
  return policy;
}

/** Whether counters are of the window or of all the time. */
export function sinceText({ windowMs }: NodeFacts): string {
  return windowMs === undefined ? 'since the counters began' : `in ${windowMs / 1000} s`;
}

export function percent(share: number): string {
  return `${(share * 100).toFixed(share < 0.1 ? 1 : 0)} %`;
}

export function bytesText(bytes: number): string {
  const text = (size: number): string => String(round(size, 1));
  if (bytes >= 1024 ** 3) return `${text(bytes / 1024 ** 3)} GB`;
  if (bytes >= 1024 ** 2) return `${text(bytes / 1024 ** 2)} MB`;
  return `${text(bytes / 1024)} KB`;
}

export function round(value: number, digits = 3): number {
  return Number(value.toFixed(digits));
}
