import { readFileSync } from 'node:fs';
import type { ConnectionOptions } from '../../connection/index.js';
import { RedisPatternsError } from '../../core/index.js';
import type { Baseline } from '../baseline.js';
import type { DoctorReport } from '../doctor.report.js';
import { DoctorService } from '../doctor.service.js';
import { DOCTOR_RULES, ruleOf } from '../rules/index.js';
import { parseCommand, UsageError, USAGE, type DoctorCommand } from './arguments.js';
import { ProgressBar, type ProgressStream } from './progress.js';
import { explainText, reportText, rulesText } from './text.js';

/** What the command has of its process. */
export interface CommandContext {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: AsyncIterable<Buffer | string>;
  readonly stdout: { write(text: string): unknown };
  readonly stderr: ProgressStream;
  readonly signal: AbortSignal;
}

/** Exit codes. */
const FINE = 0;
const FOUND = 1;
const COULD_NOT = 2;

/** The whole command; never rejects. */
export async function runCommand(context: CommandContext): Promise<number> {
  try {
    return await run(context);
  } catch (error) {
    context.stderr.write(`${messageOf(error)}\n`);
    return COULD_NOT;
  }
}

async function run(context: CommandContext): Promise<number> {
  const command = parseCommand(context.args);
  const text = informationText(command);
  if (text !== undefined) {
    context.stdout.write(`${text}\n`);
    return FINE;
  }
  if (command.url === undefined) throw new UsageError(`Give the URL of the Redis.\n\n${USAGE}`);
  const connection = await connectionOf(command.url, command.passwordFromInput, context);
  const doctor = DoctorService.forConnection(connection, { namespace: command.namespace });
  const progress = new ProgressBar(context.stderr);
  let report: DoctorReport;
  try {
    report = await doctor.examine({
      ...command.options,
      ...(command.baselineFile === undefined ? {} : { baseline: readBaseline(command.baselineFile) }),
      signal: context.signal,
      onProgress: (state) => progress.update(state),
    });
  } finally {
    progress.end();
  }
  context.stdout.write(`${command.json ? JSON.stringify(report, null, 2) : reportText(report)}\n`);
  if (report.failed) return FOUND;
  return report.target.unanswered.length > 0 ? COULD_NOT : FINE;
}

/** What needs no Redis. */
function informationText({ help, rules, explain }: DoctorCommand): string | undefined {
  if (help) return USAGE;
  if (rules) return rulesText(DOCTOR_RULES);
  if (explain === undefined) return undefined;
  const rule = ruleOf(explain);
  if (rule === undefined) throw new UsageError('No rule has that id; --rules lists them.');
  return explainText(rule);
}

/** A password on a command line can be seen by everybody on the machine, so it comes another way. */
async function connectionOf(
  url: string,
  fromInput: boolean,
  { env, stdin }: CommandContext,
): Promise<ConnectionOptions> {
  const password = fromInput ? await readAll(stdin) : env.REDIS_PASSWORD;
  const { REDIS_SENTINEL_USERNAME: username, REDIS_SENTINEL_PASSWORD: sentinelPassword } = env;
  return {
    url,
    ...(password === undefined || password === '' ? {} : { password }),
    ...(sentinelPassword === undefined
      ? {}
      : { sentinel: { password: sentinelPassword, ...(username === undefined ? {} : { username }) } }),
  };
}

async function readAll(stdin: AsyncIterable<Buffer | string>): Promise<string> {
  let text = '';
  for await (const chunk of stdin) text += chunk.toString();
  return text.replace(/\r?\n$/, '');
}

function readBaseline(file: string): Baseline {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new UsageError(`The baseline cannot be read (${(error as NodeJS.ErrnoException).code}): ${file}`);
  }
  try {
    return JSON.parse(text) as Baseline;
  } catch {
    throw new UsageError(`The baseline is not JSON: ${file}`);
  }
}

function messageOf(error: unknown): string {
  if (error instanceof UsageError || error instanceof RedisPatternsError) return error.message;
  return error instanceof Error ? error.message : 'The examination failed.';
}
