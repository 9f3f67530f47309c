/** How bad a finding is, mildest first. */
export const SEVERITIES = ['info', 'warn', 'error', 'critical'] as const;
export type Severity = (typeof SEVERITIES)[number];

/** Whether `severity` is as bad as `limit`, or worse. */
export function reaches(severity: Severity, limit: Severity): boolean {
  return SEVERITIES.indexOf(severity) >= SEVERITIES.indexOf(limit);
}

/** What a prefix is used for; the classes of {@link DURABLE} must not be lost. */
export const WORKLOADS = ['cache', 'lock', 'limiter', 'session', 'stream', 'queue', 'idempotency', 'other'] as const;
export type Workload = (typeof WORKLOADS)[number];

/** Where a finding is; what is absent does not matter to it. */
export interface FindingScope {
  /** Server, as `host:port`. */
  readonly node?: string;
  readonly db?: number;
  /** Beginning of keys, with `*` for ids: `shop:cache:product:*`. */
  readonly prefix?: string;
  /** Group of a stream. */
  readonly group?: string;
  /** Name of a command, error or event of Redis. */
  readonly subject?: string;
  /** Name of a connection or client of the application. */
  readonly connection?: string;
  /** Decorated methods that keep keys under the prefix: `@Cacheable Products.byId`. */
  readonly owner?: string;
}

/** One thing that is wrong. */
export interface Finding {
  /** Stable id of the rule: `TTL002`. */
  readonly id: string;
  /** Name of the rule: `no-ttl`. */
  readonly name: string;
  readonly severity: Severity;
  readonly scope: FindingScope;
  readonly measured: number | string;
  readonly threshold: number | string;
  /** What was seen, for people. */
  readonly evidence: string;
  readonly why: string;
  /** What to do. */
  readonly advice: string;
  /** Commands that mend it; the doctor never runs them. */
  readonly commands?: readonly string[];
  /** Names of keys as examples; only with `raw`. */
  readonly keys?: readonly string[];
  /** The baseline accepts it, so it fails nothing. */
  readonly accepted?: { readonly why: string; readonly until?: string };
  /** The day on which the baseline stopped accepting it. */
  readonly lapsed?: string;
}

/** A rule that could not be checked, or not everywhere: it is not known to be good. */
export interface UncheckedRule {
  readonly rule: string;
  readonly reason: string;
}

/** What the sample shows of keys that begin alike. */
export interface PrefixReport {
  readonly prefix: string;
  readonly class: Workload;
  /** Decorated methods that keep keys under the prefix. */
  readonly owner?: string;
  /** Keys in the sample. */
  readonly keys: number;
  /** Of those, without TTL. */
  readonly noTtl: number;
  /** Bytes of those in the sample. */
  readonly bytes: number;
  /** Bytes of the biggest in the sample. */
  readonly biggest: number;
}

/** Why the sampling ended: all keys were seen, a budget was used up, Redis got slow, or did not answer. */
export type StopReason = 'end' | 'max-keys' | 'max-time' | 'latency' | 'no-answer' | 'refused';

/** What {@link DoctorService.examine} gives. Its form follows semantic versioning by `schemaVersion`. */
export interface DoctorReport {
  readonly schemaVersion: 1;
  /** ISO time. */
  readonly startedAt: string;
  readonly elapsedMs: number;
  readonly target: {
    readonly mode: 'standalone' | 'sentinel' | 'cluster';
    readonly flavour: 'redis' | 'valkey' | 'unknown';
    readonly version: string;
    /** Masters that answered. */
    readonly nodes: readonly string[];
    /** Masters that did not, or not to the end. */
    readonly unanswered: readonly { readonly node: string; readonly reason: string }[];
  };
  readonly sample: {
    readonly keys: number;
    /** Keys that the servers have. */
    readonly of: number;
    readonly stoppedBy: StopReason;
    /** Error of a share that the sample gives, 0 to 1; 0 when all keys were seen. */
    readonly margin: number;
  };
  readonly prefixes: readonly PrefixReport[];
  /** Worst first. */
  readonly findings: readonly Finding[];
  readonly notChecked: readonly UncheckedRule[];
  /** Ids of the rules that were checked and found nothing. */
  readonly passed: readonly string[];
  /** Of the findings that the baseline does not accept. */
  readonly worst: Severity | null;
  /** Whether a finding that the baseline does not accept is as bad as `failOn`. */
  readonly failed: boolean;
}
