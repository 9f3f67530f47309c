import { z } from 'zod';
import type { RedisClient } from '../connection/index.js';
import {
  closest,
  durationSchema,
  InvalidOptionsError,
  parseOptions,
  type Duration,
  type OptionIssue,
} from '../core/index.js';
import { baselineSchema, type Baseline } from './baseline.js';
import { SEVERITIES, WORKLOADS, type Severity, type Workload } from './doctor.report.js';
import { DOCTOR_RULES, ruleOf, type Limits } from './rules/index.js';

/** Options of one examination; what is left out comes from {@link DoctorOptions}. */
export interface ExamineOptions {
  /** How many keys are looked at in all, at most. Default 20,000; the highest is 500,000. */
  maxKeys?: number;
  /** How long it takes at most, the window included. Default 30 s, up to 1 h. */
  maxTime?: Duration;
  /**
   * How long counters are watched. Default 0: they are read once, and so are of all the time since the server was started. Some
   * rules need a window.
   */
  window?: Duration;
  /** Share of the servers' time that the sample takes. Default 0.1. */
  duty?: number;
  /** By how much its own PING may get slower before the sample ends. Default 10 ms. */
  latencyGuard?: Duration;
  /** From which severity on the report is `failed`. Default `'error'`. */
  failOn?: Severity;
  /** Ids of the rules to check. Default: all. */
  only?: readonly string[];
  /** Ids of rules not to check. */
  skip?: readonly string[];
  /** Other thresholds: `{ SIZE001: { warn: 500_000 } }`; names and units stand in the catalogue. */
  rules?: Readonly<Record<string, Limits>>;
  /** What keys are used for, by their beginning: `{ 'token:': 'session' }`. */
  classify?: Readonly<Record<string, Workload>>;
  /** Findings that are accepted. */
  baseline?: Baseline;
  /** Names of keys may be told. Default false: beginnings of names only. */
  raw?: boolean;
  /** Ends it at once; the call rejects with `signal.reason`. */
  signal?: AbortSignal;
  /** Raw ioredis clients of the application, by name, whose options are looked at (CON007). */
  clients?: Readonly<Record<string, RedisClient>>;
  /** Told how many of the keys were looked at, from time to time. */
  onProgress?: (progress: { readonly keys: number; readonly of: number }) => void;
}

/** Options of `doctor` in `RedisPatternsOptions`, and defaults of every examination. */
export interface DoctorOptions extends Omit<ExamineOptions, 'signal' | 'clients' | 'onProgress'> {
  /** Name of the connection whose servers are examined. Default `'default'`. */
  connection?: string;
}

/** Parsed; times in milliseconds. */
export interface ResolvedExamination {
  readonly maxKeys: number;
  readonly maxTime: number;
  readonly window: number;
  readonly duty: number;
  readonly latencyGuard: number;
  readonly failOn: Severity;
  readonly only?: readonly string[] | undefined;
  readonly skip: readonly string[];
  readonly rules: Readonly<Record<string, Limits>>;
  readonly classify: Readonly<Record<string, Workload>>;
  readonly baseline?: Baseline | undefined;
  readonly raw: boolean;
  readonly signal?: AbortSignal | undefined;
  readonly clients?: Readonly<Record<string, RedisClient>> | undefined;
  readonly onProgress?: ExamineOptions['onProgress'];
}

export interface ResolvedDoctorOptions extends ResolvedExamination {
  readonly connection?: string | undefined;
}

const HOUR = 3_600_000;
const maxKeys = z.int().min(1).max(500_000);
const maxTime = durationSchema({ min: 100, max: HOUR });
const window = durationSchema({ max: HOUR });
const duty = z.number().min(0.01).max(1);
const latencyGuard = durationSchema({ min: 1 });
const failOn = z.enum(SEVERITIES, `must be one of ${SEVERITIES.join(', ')}`);
const ids = z.array(z.string());
const limits = z.record(z.string(), z.record(z.string(), z.number()));
const classes = z.record(z.string().min(1), z.enum(WORKLOADS, `must be one of ${WORKLOADS.join(', ')}`));

const schema = z.strictObject({
  connection: z.string().optional(),
  maxKeys: maxKeys.default(20_000),
  maxTime: maxTime.prefault('30s'),
  window: window.prefault(0),
  duty: duty.default(0.1),
  latencyGuard: latencyGuard.prefault('10ms'),
  failOn: failOn.default('error'),
  only: ids.optional(),
  skip: ids.default([]),
  rules: limits.default({}),
  classify: classes.default({}),
  baseline: baselineSchema.optional(),
  raw: z.boolean().default(false),
});

const callSchema = z.strictObject({
  maxKeys: maxKeys.optional(),
  maxTime: maxTime.optional(),
  window: window.optional(),
  duty: duty.optional(),
  latencyGuard: latencyGuard.optional(),
  failOn: failOn.optional(),
  only: ids.optional(),
  skip: ids.optional(),
  rules: limits.optional(),
  classify: classes.optional(),
  baseline: baselineSchema.optional(),
  raw: z.boolean().optional(),
  signal: z.custom<AbortSignal>((value) => value instanceof AbortSignal, 'must be an AbortSignal').optional(),
  clients: z.custom<Record<string, RedisClient>>((value) => typeof value === 'object' && value !== null).optional(),
  onProgress: z
    .custom<NonNullable<ExamineOptions['onProgress']>>((value) => typeof value === 'function', 'must be a function')
    .optional(),
});

/** @throws InvalidOptionsError */
export function resolveDoctorOptions(raw: unknown, where: string): ResolvedDoctorOptions {
  const options: ResolvedDoctorOptions = parseOptions(schema, raw ?? {}, where, 'doctor');
  check(options, where, 'doctor.');
  return options;
}

/** @throws InvalidOptionsError */
export function resolveExamination(
  raw: ExamineOptions,
  defaults: ResolvedExamination,
  where: string,
): ResolvedExamination {
  const given = parseOptions(callSchema, raw, where);
  const said = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as typeof given;
  const merged: ResolvedExamination = {
    ...defaults,
    ...(said as Partial<ResolvedExamination>),
    rules: { ...defaults.rules, ...given.rules },
    classify: { ...defaults.classify, ...given.classify },
  };
  check(merged, where, '');
  return merged;
}

/** What no schema says. */
function check(options: ResolvedExamination, where: string, prefix: string): void {
  const issues: OptionIssue[] = [];
  if (options.window >= options.maxTime) {
    issues.push({ path: `${prefix}window`, message: "must be shorter than 'maxTime', which includes it" });
  }
  for (const name of ['only', 'skip'] as const) {
    for (const id of options[name] ?? []) {
      if (ruleOf(id) === undefined) issues.push({ path: `${prefix}${name}`, message: unknownRule(id) });
    }
  }
  for (const [id, changed] of Object.entries(options.rules)) {
    const rule = ruleOf(id);
    if (rule === undefined) issues.push({ path: `${prefix}rules`, message: unknownRule(id) });
    for (const name of rule === undefined ? [] : Object.keys(changed)) {
      if (Object.hasOwn(rule!.limits, name)) continue;
      const known = Object.keys(rule!.limits);
      const message =
        known.length === 0 ? `${id} has no limits` : `${id} has no limit '${name}'; it has ${known.join(', ')}`;
      issues.push({ path: `${prefix}rules.${id}`, message });
    }
  }
  if (issues.length > 0) throw new InvalidOptionsError(where, issues);
}

function unknownRule(id: string): string {
  const guess = closest(
    id.toUpperCase(),
    DOCTOR_RULES.map((rule) => rule.id),
  );
  const hint = guess === undefined ? 'the catalogue is in docs/doctor.md' : `did you mean '${guess}'?`;
  return `no rule is called '${id.slice(0, 20)}'; ${hint}`;
}
