import type { Hold } from '../telemetry/index.js';
import type { ClientLine, SlowCommand } from './collect/parse.js';
import type { Info } from './collect/info.js';
import type { StopReason, Workload } from './doctor.report.js';

/** Something that was asked: the answer, or why there is none. */
export type Answer<T> = { readonly value: T } | { readonly reason: string };

/** Thrown by rules (through {@link known}) for what is not known; the rule is then "not checked". */
export class Unknown extends Error {}

/** @throws Unknown */
export function known<T>(answer: Answer<T>): T {
  if ('value' in answer) return answer.value;
  throw new Unknown(answer.reason);
}

/** What one server says. */
export interface NodeFacts {
  /** `host:port`. */
  readonly node: string;
  readonly info: Answer<Info>;
  /** Counters of the time that was watched, or since the start of the server. */
  readonly counters: Answer<Info>;
  /** Milliseconds that were watched; `undefined`: counters run since the start. */
  readonly windowMs: number | undefined;
  readonly config: Answer<ReadonlyMap<string, string>>;
  readonly clients: Answer<readonly ClientLine[]>;
  readonly slowlog: Answer<readonly SlowCommand[]>;
  /** Worst milliseconds by event of the latency monitor. */
  readonly events: Answer<ReadonlyMap<string, number>>;
  /** 99th percentile in milliseconds, and calls, by command. */
  readonly latencies: Answer<ReadonlyMap<string, { readonly p99: number; readonly calls: number }>>;
  readonly user: Answer<string>;
  /** Whether somebody without credentials is let in. */
  readonly open: Answer<boolean>;
}

/** One key of the sample. */
export interface SampledKey {
  readonly name: string;
  readonly type: string;
  /** Milliseconds, -1 without TTL; `undefined` when it may not be asked. */
  readonly ttl: number | undefined;
  readonly bytes: number | undefined;
  /** Bytes of the name. */
  readonly length: number;
  /** Of a collection that was worth counting. */
  readonly elements?: number;
  /** Counter of an LFU policy, 0 to 255. */
  readonly frequency?: number;
  readonly node: string;
  readonly db: number;
}

/** Keys of the sample that begin alike. */
export interface PrefixFacts {
  readonly prefix: string;
  readonly class: Workload;
  /** How the class is known; what is guessed from TTLs proves nothing. */
  readonly by: 'given' | 'pattern' | 'name' | 'type' | 'ttl';
  readonly owner?: string;
  readonly members: readonly SampledKey[];
}

/** What may be asked of a key. */
export type KeyQuestion = 'type' | 'pttl' | 'memory' | 'frequency' | 'elements';

export interface SampleFacts {
  readonly keys: number;
  readonly of: number;
  readonly stoppedBy: StopReason;
  readonly margin: number;
  /** Why keys are missing that a finding may need. */
  readonly gap: string | undefined;
  /** Why a question was not answered. */
  readonly denied: ReadonlyMap<KeyQuestion, string>;
}

/** One look at a group. */
export interface GroupFacts {
  readonly name: string;
  /** Entries that it has not been given; `undefined` when Redis does not know. */
  readonly lag: readonly (number | undefined)[];
  readonly pending: number;
  /** Milliseconds since the last delivery of the oldest pending entries. */
  readonly oldestIdle: number;
  readonly consumers: readonly { readonly idle: number; readonly pending: number }[];
  /** Milliseconds since it was given an entry, or since there is one that it was not given. */
  readonly quietFor: number | undefined;
}

export interface StreamFacts {
  readonly prefix: string;
  readonly key: string;
  readonly deadLetters: boolean;
  readonly length: number;
  /** Length at the end of the window. */
  readonly laterLength: number | undefined;
  /** Milliseconds since the first entry was added. */
  readonly age: number;
  readonly groups: Answer<readonly GroupFacts[]>;
}

/** What an application knows of itself. */
export interface ApplicationFacts {
  readonly connections: readonly {
    readonly name: string;
    readonly waiting: number;
    readonly inFlight: number;
    readonly openNodes: readonly string[];
  }[];
  /** Raw clients of ioredis, by the application's name for them. */
  readonly clients: readonly {
    readonly name: string;
    readonly offlineQueue: boolean;
    readonly deadline: boolean;
    readonly retries: boolean;
    readonly sentinelWithoutDetector: boolean;
  }[];
  /** What it leases now; `undefined` outside of an application. */
  readonly holds: readonly Hold[] | undefined;
}

/** Everything that rules look at. They ask nobody. */
export interface Snapshot {
  readonly nodes: readonly NodeFacts[];
  readonly prefixes: readonly PrefixFacts[];
  readonly sample: SampleFacts;
  readonly streams: Answer<readonly StreamFacts[]>;
  /** What the Sentinels say of their quorum; `undefined` without Sentinels. */
  readonly quorum: Answer<{ readonly ok: boolean; readonly usable: number; readonly text: string }> | undefined;
  readonly plainText: string | undefined;
  /** Milliseconds that were watched. */
  readonly windowMs: number;
  readonly application: ApplicationFacts | undefined;
}
