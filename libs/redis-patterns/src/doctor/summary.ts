import type { DirectServer, DirectServers } from '../connection/index.js';
import type { NodeExamination } from './collect/examination.js';
import type { NodeSample } from './collect/sampler.js';
import type { DoctorReport, StopReason } from './doctor.report.js';
import type { Verdict } from './judge.js';
import { largest } from './largest.js';
import type { Grouping } from './prefixes/group-keys.js';
import type { Answer, KeyQuestion, SampleFacts, Snapshot, StreamFacts } from './snapshot.js';

/** Worst last. */
const STOPS: readonly StopReason[] = ['end', 'max-keys', 'max-time', 'latency', 'refused', 'no-answer'];

export interface Collected extends Pick<Snapshot, 'quorum' | 'plainText' | 'application' | 'windowMs'> {
  readonly masters: readonly DirectServer[];
  readonly nodes: readonly NodeExamination[];
  readonly grouping: Grouping;
}

/** Puts what was collected of all servers together. */
export function takeSnapshot({ masters, nodes, grouping, ...rest }: Collected): Snapshot {
  const sample = sampleFacts(masters, nodes);
  const noTypes = sample.denied.get('type');
  return {
    ...rest,
    nodes: nodes.map(({ facts }) => facts),
    prefixes: grouping.prefixes,
    sample,
    // Which of the keys are streams is not known then.
    streams:
      noTypes === undefined
        ? allStreams(nodes.map((node) => node.streams((key) => grouping.prefixOf(key))))
        : { reason: noTypes },
  };
}

function sampleFacts(masters: readonly DirectServer[], nodes: readonly NodeExamination[]): SampleFacts {
  const keys = nodes.reduce((sum, { sample }) => sum + sample.keys.length, 0);
  const of = nodes.reduce((sum, { size }) => sum + size, 0);
  const stops = nodes.map(({ sample }) => sample.stoppedBy);
  const stoppedBy = STOPS.findLast((stop) => stops.includes(stop)) ?? 'end';
  const missing = masters.find(({ client }) => client === undefined);
  const early = nodes.find(({ sample }) => STOPS.indexOf(sample.stoppedBy) > STOPS.indexOf('max-keys'));
  const gap =
    missing === undefined ? early && earlyEnd(early.sample, keys, of) : `a master was not reached: ${missing.reason}`;
  const denied = new Map<KeyQuestion, string>(nodes.flatMap(({ sample }) => [...sample.denied]));
  return { keys, of, stoppedBy, margin: stoppedBy === 'end' || keys === 0 ? 0 : 1 / Math.sqrt(keys), gap, denied };
}

function earlyEnd({ stoppedBy, reason }: NodeSample, keys: number, of: number): string {
  const whys: Partial<Record<StopReason, string>> = {
    'max-time': 'maxTime was over',
    latency: 'the server got slower than latencyGuard allows',
  };
  return `the sample ended early, after ${keys} of ${of} keys: ${whys[stoppedBy] ?? reason ?? stoppedBy}`;
}

/** A stream belongs to one server, so all of them are known only when all could be asked. */
function allStreams(answers: readonly Answer<StreamFacts[]>[]): Answer<StreamFacts[]> {
  const refused = answers.find((answer) => 'reason' in answer);
  if (refused !== undefined) return refused;
  const streams = answers.flatMap((answer) => ('value' in answer ? answer.value : []));
  return { value: streams.toSorted((one, other) => (one.key < other.key ? -1 : 1)) };
}

export function toReport(
  mode: DirectServers['mode'],
  masters: readonly DirectServer[],
  nodes: readonly NodeExamination[],
  { prefixes, sample, ...snapshot }: Snapshot,
  verdict: Verdict,
): DoctorReport {
  const info = snapshot.nodes.flatMap((node) => ('value' in node.info ? [node.info.value] : []))[0];
  const lost = nodes.flatMap(({ facts, lost: reason }) => (reason === undefined ? [] : [{ node: facts.node, reason }]));
  const unreached = masters.flatMap(({ address, reason }) => (reason === undefined ? [] : [{ node: address, reason }]));
  const unanswered = [...unreached, ...lost];
  return {
    schemaVersion: 1,
    startedAt: '',
    elapsedMs: 0,
    target: {
      mode,
      flavour: info?.flavour ?? 'unknown',
      version: info?.version ?? '',
      nodes: nodes.filter((node) => node.lost === undefined).map(({ facts }) => facts.node),
      unanswered,
    },
    sample: {
      keys: sample.keys,
      of: sample.of,
      stoppedBy: sample.stoppedBy,
      margin: Number(sample.margin.toFixed(4)),
    },
    prefixes: prefixes.map(({ prefix, class: workload, owner, members }) => ({
      prefix,
      class: workload,
      ...(owner === undefined ? {} : { owner }),
      keys: members.length,
      noTtl: members.filter(({ ttl }) => ttl === -1).length,
      bytes: members.reduce((sum, { bytes = 0 }) => sum + bytes, 0),
      biggest: largest(members.map(({ bytes = 0 }) => bytes)),
    })),
    ...verdict,
  };
}
