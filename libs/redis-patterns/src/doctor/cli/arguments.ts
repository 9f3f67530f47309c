import { parseArgs } from 'node:util';
import { closest, parseDuration, type Duration } from '../../core/index.js';
import type { ExamineOptions } from '../doctor.options.js';
import { SEVERITIES, WORKLOADS, type Severity, type Workload } from '../doctor.report.js';
import type { Limits } from '../rules/index.js';

/** Something about the command line that cannot work; the message is for who typed it, and holds no password. */
export class UsageError extends Error {}

export const USAGE = `Usage: nestjs-redis-patterns doctor <url> [options]

Looks for anti-patterns in a live Redis. It only reads, within limits of keys, time and load.

  <url>  redis://user@host:6379/0, rediss://… for TLS, redis+sentinel://host:26379,…/<master>, redis+cluster://host:6379,…
  The password comes from REDIS_PASSWORD, or from standard input with --password-stdin; that of the Sentinels from
  REDIS_SENTINEL_PASSWORD (user: REDIS_SENTINEL_USERNAME). A private authority of TLS: NODE_EXTRA_CA_CERTS=<file>.

  --json                     the report as JSON on standard output
  --namespace <ns>           namespace of the application: names of its streams are told
  --window <time>            watch counters for this time, such as 10s (default 0: since the start of the server)
  --max-keys <n>             keys to look at (default 20000)
  --max-time <time>          longest time in all (default 30s)
  --fail-on <severity>       exit 1 from here on: info, warn, error, critical (default error)
  --only <ids>, --skip <ids> rules, with commas
  --set <ID.limit=number>    another threshold; may be repeated
  --classify <beginning=class>  what keys are used for: ${WORKLOADS.join(', ')}; may be repeated
  --baseline <file>          findings that are accepted
  --raw                      tell names of keys
  --rules                    list the rules, and end
  --explain <ID>             explain a rule, and end

Exit code: 0 nothing at or over --fail-on, 1 something, 2 the examination could not run, or not to its end.`;

const OPTIONS = {
  json: { type: 'boolean' },
  namespace: { type: 'string' },
  window: { type: 'string' },
  'max-keys': { type: 'string' },
  'max-time': { type: 'string' },
  'fail-on': { type: 'string' },
  only: { type: 'string', multiple: true },
  skip: { type: 'string', multiple: true },
  set: { type: 'string', multiple: true },
  classify: { type: 'string', multiple: true },
  baseline: { type: 'string' },
  raw: { type: 'boolean' },
  rules: { type: 'boolean' },
  explain: { type: 'string' },
  'password-stdin': { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const;

/** What was typed. */
export interface DoctorCommand {
  readonly help: boolean;
  readonly rules: boolean;
  readonly explain: string | undefined;
  readonly url: string | undefined;
  readonly json: boolean;
  readonly namespace: string | undefined;
  readonly baselineFile: string | undefined;
  readonly passwordFromInput: boolean;
  readonly options: ExamineOptions;
}

/** @throws UsageError */
export function parseCommand(args: readonly string[]): DoctorCommand {
  const { values, positionals } = parse(args);
  const [command, url, ...more] = positionals;
  if (values.help !== true && command !== 'doctor') {
    throw new UsageError(command === undefined ? USAGE : `Unknown command; the only one is 'doctor'.\n\n${USAGE}`);
  }
  // It is not quoted: it may be a URL with a password.
  if (more.length > 0) throw new UsageError('Give one URL; more than one argument is not understood.');
  return {
    help: values.help === true,
    rules: values.rules === true,
    explain: values.explain,
    url,
    json: values.json === true,
    namespace: values.namespace,
    baselineFile: values.baseline,
    passwordFromInput: values['password-stdin'] === true,
    options: {
      ...(values.window === undefined ? {} : { window: duration('window', values.window) }),
      ...(values['max-time'] === undefined ? {} : { maxTime: duration('max-time', values['max-time']) }),
      ...(values['max-keys'] === undefined ? {} : { maxKeys: number('--max-keys', values['max-keys']) }),
      ...(values['fail-on'] === undefined ? {} : { failOn: severity(values['fail-on']) }),
      ...(values.only === undefined ? {} : { only: list(values.only) }),
      ...(values.skip === undefined ? {} : { skip: list(values.skip) }),
      ...(values.set === undefined ? {} : { rules: limitsOf(values.set) }),
      ...(values.classify === undefined ? {} : { classify: Object.fromEntries(values.classify.map(classOf)) }),
      ...(values.raw === true ? { raw: true } : {}),
    },
  };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true, strict: true });
  } catch (error) {
    const { message } = error as Error;
    const name = /^Unknown option '-*([\w-]+)/.exec(message)?.[1];
    if (name === undefined) throw new UsageError(message);
    const guess = closest(name, Object.keys(OPTIONS));
    throw new UsageError(`Unknown option --${name}${guess === undefined ? '' : `; did you mean --${guess}?`}`);
  }
}

function list(texts: readonly string[]): string[] {
  return texts.flatMap((text) => text.split(',')).filter((id) => id !== '');
}

function duration(option: string, text: string): Duration {
  if (parseDuration(text) === undefined) throw new UsageError(`--${option} must be a time, such as 500ms, 10s or 2m`);
  return text as Duration;
}

function number(option: string, text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value)) throw new UsageError(`${option} must be a number`);
  return value;
}

function severity(text: string): Severity {
  const found = SEVERITIES.find((each) => each === text);
  if (found === undefined) throw new UsageError(`--fail-on must be one of ${SEVERITIES.join(', ')}`);
  return found;
}

function limitsOf(texts: readonly string[]): Record<string, Limits> {
  const rules: Record<string, Record<string, number>> = {};
  for (const text of texts) {
    const match = /^([A-Za-z]+\d+)\.(\w+)=(.+)$/.exec(text);
    if (match === null) throw new UsageError('--set is written ID.limit=number, for example SIZE001.warn=200000');
    const [, id, limit, value] = match;
    (rules[id!.toUpperCase()] ??= {})[limit!] = number('--set', value!);
  }
  return rules;
}

function classOf(text: string): [string, Workload] {
  const at = text.lastIndexOf('=');
  const workload = WORKLOADS.find((each) => each === text.slice(at + 1));
  if (at < 1 || workload === undefined) {
    throw new UsageError(`--classify is written beginning=class, with one of ${WORKLOADS.join(', ')}`);
  }
  return [text.slice(0, at), workload];
}
